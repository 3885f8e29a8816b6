/// <reference path="./pg.d.ts" />
/** A connection to PostgreSQL. The package pg is loaded when the first connection is made. */
import type { Duplex } from "node:stream";
import type { Client, ProtocolConnection, Settings, Submittable } from "pg";
import { StorageError } from "../sqlite/storage-error.ts";
import { type Place, toConnectError, toLossError } from "./errors.ts";
import { passwordFromFile } from "./password-file.ts";

export type { Settings } from "pg";

/** Type numbers of int8 and int8[]: ids and times fit the integers of JavaScript. */
const INT8 = 20;

/** How long a server may take to accept a connection. */
const CONNECT_WAIT_MS = 10_000;
/** A silent connection is checked after this time, so that the end of a host is noticed. */
const KEEP_ALIVE_MS = 10_000;

/** The forms of texts that our SQL and our decoders expect; a role or a database may have others. */
const FORMS = "SET standard_conforming_strings = on; SET bytea_output = hex; SET extra_float_digits = 1";

export class Connection {
  readonly #client: Client;
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
    const connection = new Connection(await makeClient(settings, name));
    try {
      await connection.#client.connect();
      await connection.#client.query({ text: FORMS, rowMode: "array" });
    } catch (cause) {
      // A server that waits for an answer to its greeting keeps the process alive.
      connection.drop();
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
    const { rows } = await this.#answer(this.#client.query<Row>({ text, values, rowMode: "array" }));
    return rows;
  }

  /** Runs statements without values. */
  async run(text: string): Promise<void> {
    await this.#answer(this.#client.query({ text, rowMode: "array" }));
  }

  /** Sends messages that end with a Sync; fails with the first error, on which `done` counts the statements before it. */
  send(messages: Buffer): Promise<void> {
    return this.#answer(new Promise((resolve, reject) => this.#client.query(new Messages(messages, resolve, reject))));
  }

  /** The stream, for a caller that speaks the protocol from now on; of this object, nothing else may be used afterwards. */
  handOver(): Duplex {
    const { stream } = this.#client.connection;
    stream.removeAllListeners("data");
    return stream;
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

/** @throws StorageError for settings that cannot be used, such as a certificate that cannot be read */
async function makeClient(settings: Settings, name: string | undefined): Promise<Client> {
  const { Client } = (await import("pg")).default;
  const alive = { keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS };
  try {
    const client = new Client({ application_name: name, connectionTimeoutMillis: CONNECT_WAIT_MS, ...alive, ...settings });
    client.setTypeParser(INT8, Number);
    // The driver reads the file as well, but says that it will not any more.
    client.password ??= () => passwordFromFile(client);
    return client;
  } catch (cause) {
    throw new StorageError("denied", `the URL of the store cannot be used: ${(cause as Error).message}`, cause);
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

  handleRowDescription(): void {}

  handleDataRow(): void {}

  handlePortalSuspended(): void {}

  handleEmptyQuery(): void {}

  handleCommandComplete(): void {
    this.#done += 1;
  }
}
