/** The thread that reads for callers of `BlockingReader`: one connection for each link, made at the first request. */
import { type MessagePort, parentPort } from "node:worker_threads";
import { GRACE_MS, type ReadAnswer, type ReaderConnect, type ReadRequest } from "./blocking-reader.ts";
import { Connection, type Settings, type Table } from "./connection.ts";

class ServedLink {
  readonly #port: MessagePort;
  readonly #signal: Int32Array;
  readonly #settings: Settings;
  readonly #limitMs: number;
  #connection: Promise<Connection> | null = null;

  constructor({ port, signal, settings, limitMs }: ReaderConnect) {
    this.#port = port;
    this.#signal = signal;
    this.#settings = settings;
    this.#limitMs = limitMs;
    port.on("message", (request: ReadRequest) => void this.#serve(request));
    port.on("close", () => this.#drop(this.#connection));
  }

  async #serve(request: ReadRequest): Promise<void> {
    const answer = await this.#answer(request);
    this.#port.postMessage(answer);
    Atomics.store(this.#signal, 0, request.number);
    Atomics.notify(this.#signal, 0);
  }

  async #answer({ number, text, values }: ReadRequest): Promise<ReadAnswer> {
    this.#connection ??= this.#open();
    const connection = this.#connection;
    try {
      return { number, table: await this.#inTime(connection.then((open) => open.read(text, values))) };
    } catch (error) {
      const { message, code = null, severity } = error as Error & { code?: string; severity?: string };
      // An error of the statement leaves the connection usable.
      if (severity !== "ERROR") this.#drop(connection);
      return { number, error: message, code };
    }
  }

  async #open(): Promise<Connection> {
    const connection = await Connection.open(this.#settings);
    await connection.run(`SET default_transaction_read_only = on; SET statement_timeout = ${this.#limitMs}`);
    return connection;
  }

  /** Fails when the connection is silent beyond the time limit of its statements. */
  #inTime(reading: Promise<Table>): Promise<Table> {
    return new Promise((resolve, reject) => {
      const silent = () => reject(new Error("the connection to PostgreSQL does not answer"));
      const timer = setTimeout(silent, this.#limitMs + GRACE_MS);
      reading.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  /** The next request makes a new connection. */
  #drop(connection: Promise<Connection> | null): void {
    if (this.#connection === connection) this.#connection = null;
    connection?.then(
      (open) => open.drop(),
      () => {},
    );
  }
}

parentPort?.on("message", (connect: ReaderConnect) => new ServedLink(connect));
