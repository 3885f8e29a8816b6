/** A connection to PostgreSQL. The package pg is loaded when the first connection is made. */
import type { Client, Settings } from "pg";
import type { CommitPlace, CommitStatements } from "./commit-statement.ts";
import type { FoldedBatch } from "./fold-batch.ts";

export type { Settings } from "pg";

/** Type numbers of int8 and int8[]: ids and times fit the integers of JavaScript. */
const INT8 = 20;

export class Connection {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async open(settings: Settings): Promise<Connection> {
    const { Client } = (await import("pg")).default;
    const client = new Client(settings);
    client.setTypeParser(INT8, Number);
    await client.connect();
    return new Connection(client);
  }

  /** The rows of one statement, each an array. */
  async rows<Row extends unknown[]>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await this.#client.query({ text, values, rowMode: "array" });
    return rows as Row[];
  }

  /** Runs statements without values. */
  async run(text: string): Promise<void> {
    await this.#client.query({ text, rowMode: "array" });
  }

  /** Commits a folded batch; fails with code 22012 when the fence or a row was not as expected. */
  async commit(statements: CommitStatements, place: CommitPlace, folded: FoldedBatch): Promise<void> {
    await this.#client.query({ ...statements.statement(place, folded), rowMode: "array" });
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}
