/** A connection to PostgreSQL. The package pg is loaded when the first connection is made. */
import type { Client, ProtocolConnection, Settings, Submittable } from "pg";
import type { CommitMessages, CommitPlace } from "./commit-messages.ts";
import type { FoldedBatch } from "./fold-batch.ts";

export type { Settings } from "pg";

/** Type numbers of int8 and int8[]: ids and times fit the integers of JavaScript. */
const INT8 = 20;

/** Statements that a connection prepares for `read`; further texts are parsed at each call. */
const PREPARED_MAX = 256;

/** Rows with the names of their columns. */
export interface Table {
  columns: string[];
  rows: unknown[][];
}

export class Connection {
  readonly #client: Client;
  /** Names of prepared statements by text. */
  readonly #prepared = new Map<string, string>();

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open(settings: Settings): Promise<Connection> {
    const { Client } = (await import("pg")).default;
    const client = new Client(settings);
    client.setTypeParser(INT8, Number);
    // A lost connection fails the statement under way and all later ones; without a listener it would end the thread.
    client.on("error", () => {});
    await client.connect();
    return new Connection(client);
  }

  /** The rows of one statement, each an array. */
  async rows<Row extends unknown[]>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await this.#client.query({ text, values, rowMode: "array" });
    return rows as Row[];
  }

  /** The rows of one statement, which is prepared at its first call. */
  async read(text: string, values: readonly unknown[]): Promise<Table> {
    const known = this.#prepared.get(text);
    const name = known ?? (this.#prepared.size < PREPARED_MAX ? `read_${this.#prepared.size}` : "");
    if (known === undefined && name !== "") this.#prepared.set(text, name);
    const { fields, rows } = await this.#client.query({ name, text, values, rowMode: "array" });
    return { columns: fields.map((field) => field.name), rows };
  }

  /** Runs statements without values. */
  async run(text: string): Promise<void> {
    await this.#client.query({ text, rowMode: "array" });
  }

  /** Commits a folded batch; fails with code 22012 when the fence or a row was not as expected. */
  async commit(commits: CommitMessages, place: CommitPlace, folded: FoldedBatch): Promise<void> {
    const messages = commits.messages(place, folded);
    try {
      await new Promise<void>((resolve, reject) => this.#client.query(new Messages(messages, resolve, reject)));
    } catch (error) {
      commits.forget();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#client.end();
  }

  /** Ends the connection without a word to the server; the statement under way fails. */
  drop(): void {
    this.#client.connection.stream.destroy();
  }
}

/** Messages that end with a Sync, sent as they are in the place of a query. Fails with the first error; rows are not read. */
class Messages implements Submittable {
  readonly #messages: Buffer;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;

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
    this.#reject(error);
  }

  handleReadyForQuery(): void {
    this.#resolve();
  }

  handleDataRow(): void {}

  handleCommandComplete(): void {}
}
