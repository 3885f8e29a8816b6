/** A connection to PostgreSQL. The package pg is loaded when the first connection is made. */
import type { Client, ProtocolConnection, Settings, Submittable } from "pg";
import { type Place, toConnectError, toLossError } from "./errors.ts";

export type { Settings } from "pg";

/** Type numbers of int8 and int8[]: ids and times fit the integers of JavaScript. */
const INT8 = 20;

/** Statements that a connection prepares for `read`; further texts are parsed at each call. */
const PREPARED_MAX = 256;

/** How long a server may take to accept a connection. */
const CONNECT_WAIT_MS = 10_000;
/** A silent connection is checked after this time, so that the end of a host is noticed. */
const KEEP_ALIVE_MS = 10_000;

/** Rows with the names of their columns. */
export interface Table {
  columns: string[];
  rows: unknown[][];
}

export class Connection {
  readonly #client: Client;
  /** Names of prepared statements by text. */
  readonly #prepared = new Map<string, string>();
  #isOpen = true;

  private constructor(client: Client) {
    this.#client = client;
    // A lost connection fails the statement under way and all later ones; without a listener it would end the thread.
    client.on("error", () => {
      this.#isOpen = false;
    });
    client.on("end", () => {
      this.#isOpen = false;
    });
  }

  /**
   * @param name shown for the connection in pg_stat_activity
   * @throws StorageError that says why there is no connection
   */
  static async open(settings: Settings, name?: string): Promise<Connection> {
    const { Client } = (await import("pg")).default;
    const alive = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS };
    const client = new Client({ application_name: name, connectionTimeoutMillis: CONNECT_WAIT_MS, ...alive, ...settings });
    client.setTypeParser(INT8, Number);
    const connection = new Connection(client);
    try {
      await client.connect();
    } catch (cause) {
      throw toConnectError(cause, connection.place);
    }
    return connection;
  }

  get place(): Place {
    const { host, port, user, database } = this.#client;
    return { host, port, user, database };
  }

  /** False when the connection was lost or closed. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The rows of one statement, each an array. */
  async rows<Row extends unknown[]>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await this.#answer(this.#client.query({ text, values, rowMode: "array" }));
    return rows as Row[];
  }

  /** The rows of one statement, which is prepared at its first call. */
  async read(text: string, values: readonly unknown[]): Promise<Table> {
    const known = this.#prepared.get(text);
    const name = known ?? (this.#prepared.size < PREPARED_MAX ? `read_${this.#prepared.size}` : "");
    if (known === undefined && name !== "") this.#prepared.set(text, name);
    const { fields, rows } = await this.#answer(this.#client.query({ name, text, values, rowMode: "array" }));
    return { columns: fields.map((field) => field.name), rows };
  }

  /** Runs statements without values. */
  async run(text: string): Promise<void> {
    await this.#answer(this.#client.query({ text, rowMode: "array" }));
  }

  /** Sends messages that end with a Sync; fails with the first error, on which `done` counts the statements before it. */
  send(messages: Buffer): Promise<void> {
    return this.#answer(new Promise((resolve, reject) => this.#client.query(new Messages(messages, resolve, reject))));
  }

  close(): Promise<void> {
    this.#isOpen = false;
    return this.#client.end();
  }

  /** Ends the connection without a word to the server; the statement under way fails. */
  drop(): void {
    this.#isOpen = false;
    this.#client.connection.stream.destroy();
  }

  async #answer<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (cause) {
      throw this.#isOpen ? cause : toLossError(cause);
    }
  }
}

/** Messages sent as they are in the place of a query. Rows are not read. */
class Messages implements Submittable {
  readonly #messages: Buffer;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;
  #done = 0;

  constructor(messages: Buffer, resolve: () => void, reject: (error: Error) => void) {
    this.#messages = messages;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  submit({ stream }: ProtocolConnection): null {
    stream.write(this.#messages);
    return null;
  }

  handleError(error: Error): void {
    this.#reject(Object.assign(error, { done: this.#done }));
  }

  handleReadyForQuery(): void {
    this.#resolve();
  }

  handleDataRow(): void {}

  handleCommandComplete(): void {
    this.#done += 1;
  }
}
