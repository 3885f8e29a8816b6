/**
 * Reads on one connection. A portal, which gives the rows of a statement in portions, lives in a transaction; where the caller
 * began none, the first portal begins one and the last ends it.
 */
import { StorageError } from "../sqlite/storage-error.ts";
import type { Connection } from "./connection.ts";
import { Execution } from "./execution.ts";
import type { Table } from "./table.ts";

/** Statements that a connection prepares; further texts are parsed at each call. */
const PREPARED_MAX = 256;

/** Rows, and the portal that has more of them. */
export interface ReadPortion {
  table: Table;
  portal: string | null;
}

export class ReadSession {
  readonly #connection: Connection;
  /** Names of prepared statements by text. */
  readonly #prepared = new Map<string, string>();
  /** First executions of open portals. */
  readonly #portals = new Map<string, Execution>();
  #named = 0;
  /** Who has begun the transaction. */
  #transaction: "caller" | "portal" | null = null;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The connection to the database. */
  get connection(): Connection {
    return this.#connection;
  }

  /** Runs BEGIN, COMMIT or ROLLBACK. The reads of a transaction see one state of the store. */
  async exec(text: string): Promise<void> {
    const begins = text === "BEGIN";
    this.#transaction = begins ? "caller" : null;
    this.#portals.clear();
    await this.#connection.run(begins ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : text);
  }

  /** All rows of a statement, or the first ones; `rowsMax` 0 is all. */
  async all(text: string, values: readonly unknown[], rowsMax: number): Promise<Table> {
    return (await this.#execute(text, values, "", rowsMax)).table;
  }

  /** The first rows of a statement. */
  async open(text: string, values: readonly unknown[], rowsMax: number): Promise<ReadPortion> {
    this.#named += 1;
    return await this.#execute(text, values, `portal_${this.#named}`, rowsMax);
  }

  async next(portal: string, rowsMax: number): Promise<ReadPortion> {
    const first = this.#portals.get(portal);
    if (first === undefined) throw new StorageError("reader", "the portal is closed, or its connection is lost");
    const execution = Execution.continue(portal, rowsMax, first);
    const table = await this.#connection.execute(execution);
    if (execution.suspended) return { table, portal };
    this.close(portal);
    return { table, portal: null };
  }

  /**
   * The last portal ends the transaction that the first one began. The caller does not wait for that: later reads follow on the
   * same connection, and fail themselves if it is lost.
   */
  close(portal: string): void {
    this.#portals.delete(portal);
    if (this.#transaction === "portal" && this.#portals.size === 0) this.exec("COMMIT").catch(() => undefined);
  }

  async #execute(text: string, values: readonly unknown[], portal: string, rowsMax: number): Promise<ReadPortion> {
    const known = this.#prepared.get(text);
    const name = known ?? this.#nameFor(text);
    const begins = portal !== "" && this.#transaction === null;
    if (begins) this.#transaction = "portal";
    const before = begins ? "BEGIN READ ONLY" : null;
    const unprepared = known === undefined ? text : null;
    const execution = Execution.begin({ name, text: unprepared, values, portal, rowsMax, before });
    try {
      const table = await this.#connection.execute(execution);
      if (known === undefined && name !== "") this.#prepared.set(text, name);
      if (portal === "") return { table, portal: null };
      if (!execution.suspended) this.close(portal);
      else this.#portals.set(portal, execution);
      return { table, portal: execution.suspended ? portal : null };
    } catch (error) {
      // A statement that failed ends the transaction of its portals.
      if (this.#transaction === "portal") await this.exec("ROLLBACK").catch(() => undefined);
      throw error;
    }
  }

  /** A new name at each attempt: it is not known whether a statement that failed is prepared. */
  #nameFor(text: string): string {
    if (this.#prepared.size >= PREPARED_MAX || text === "") return "";
    this.#named += 1;
    return `read_${this.#named}`;
  }
}
