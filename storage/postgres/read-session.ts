/**
 * Reads on one connection. A portal, which gives the rows of a statement in portions, lives in a transaction; where the caller
 * began none, the first portal that has more rows begins one and the last ends it.
 */
import { StorageError } from "../sqlite/storage-error.ts";
import { Connection, type Settings } from "./connection.ts";
import { ReadConnection, type ServerAnswer } from "./read-connection.ts";
import { BEGIN_HERE, type Execution, executeOpen, executePortal, executeWhole, SYNC, simpleQuery } from "./read-messages.ts";
import type { ResultColumn } from "./server-messages.ts";

/** Statements that a connection prepares; further texts are parsed at each call. */
const PREPARED_MAX = 256;

/** A statement and its values. */
export interface StatementRead {
  text: string;
  values: readonly unknown[];
  /** Highest number of rows; 0 for all. */
  rowsMax: number;
  /** Whether the columns are asked for. */
  described: boolean;
}

/** Messages of the server with rows, and the portal that has more of them. */
export interface ReadPortion {
  bytes: Uint8Array<ArrayBuffer>;
  /** Null where they were not asked for. */
  columns: ResultColumn[] | null;
  portal: string | null;
}

/** How a session reads. */
export interface SessionLimits {
  /** How long a statement takes at most. */
  limitMs: number;
  /** Whether plans may read whole tables, for checks that read all rows anyway; else they follow the indexes. */
  wholeTables?: boolean;
}

/** Share of the time limit after which a locked table is an error of its own, which says so. */
const LOCK_SHARE = 0.5;

/**
 * No change is possible, and no plan is compiled or run by several processes: reads are short, and checks leave the processors to
 * the server. A plan is made once for a statement: making it for the values of each call takes as long as a page.
 */
const READER_SETTINGS = [
  "default_transaction_read_only = on",
  "jit = off",
  "max_parallel_workers_per_gather = 0",
  "random_page_cost = 1.1",
  "plan_cache_mode = force_generic_plan",
];

/**
 * The planner has to follow the indexes, as the texts say for SQLite: its statistics are old where a table grows, and a page ends
 * long before its list.
 */
const BY_INDEX = ["seqscan", "bitmapscan", "hashjoin", "mergejoin"].map((plan) => `enable_${plan} = off`);

export class ReadSession {
  readonly #connection: ReadConnection;
  /** Names of prepared statements by text. */
  readonly #prepared = new Map<string, string>();
  readonly #portals = new Set<string>();
  #named = 0;
  /** Who has begun the transaction. */
  #transaction: "caller" | "portal" | null = null;

  constructor(connection: ReadConnection) {
    this.#connection = connection;
  }

  /** @throws StorageError that says why there is no connection */
  static async open(settings: Settings, { limitMs, wholeTables = false }: SessionLimits): Promise<ReadSession> {
    const connection = await Connection.open(settings, "millrace reader");
    const assignments = [
      ...READER_SETTINGS,
      ...(wholeTables ? [] : BY_INDEX),
      `statement_timeout = ${limitMs}`,
      `lock_timeout = ${Math.ceil(limitMs * LOCK_SHARE)}`,
    ];
    await connection.run(assignments.map((assignment) => `SET ${assignment}`).join("; "));
    return new ReadSession(new ReadConnection(connection.handOver()));
  }

  /** The connection to the database. */
  get connection(): ReadConnection {
    return this.#connection;
  }

  /** Runs BEGIN, COMMIT or ROLLBACK. The reads of a transaction see one state of the store. */
  async exec(text: string): Promise<void> {
    const begins = text === "BEGIN";
    this.#transaction = begins ? "caller" : null;
    this.#portals.clear();
    await this.#connection.ask(simpleQuery(begins ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : text), "ready");
  }

  /** All rows of a statement, or the first ones. */
  async all(read: StatementRead): Promise<ReadPortion> {
    return portionOf(await this.#execute(read, "", (execution) => this.#askWhole(execution)), null);
  }

  /** The first rows of a statement. */
  async open(read: StatementRead): Promise<ReadPortion> {
    this.#named += 1;
    const portal = `portal_${this.#named}`;
    const begins = this.#transaction === null;
    const answer = await this.#execute(read, portal, (execution) =>
      begins ? this.#askOpen(execution) : this.#askWhole(execution),
    );
    if (begins) this.#connection.tell(answer.suspended ? BEGIN_HERE : SYNC);
    if (!answer.suspended) return portionOf(answer, null);
    this.#transaction ??= "portal";
    this.#portals.add(portal);
    return portionOf(answer, portal);
  }

  async next(portal: string, rowsMax: number): Promise<ReadPortion> {
    if (!this.#portals.has(portal)) throw new StorageError("reader", "the portal is closed, or its connection is lost");
    const answer = await this.#connection.ask(executePortal(portal, rowsMax), "ready");
    if (answer.suspended) return portionOf(answer, portal);
    this.close(portal);
    return portionOf(answer, null);
  }

  /**
   * The last portal ends the transaction that the first one began. The caller does not wait for that: later reads follow on the
   * same connection, and fail themselves if it is lost.
   */
  close(portal: string): void {
    this.#portals.delete(portal);
    if (this.#transaction === "portal" && this.#portals.size === 0) this.#end("COMMIT");
  }

  #askWhole(execution: Execution): Promise<ServerAnswer> {
    return this.#connection.ask(executeWhole(execution), "ready");
  }

  /** Executes a statement whose portal may have more rows. Most have none: then it costs no transaction of its own. */
  async #askOpen(execution: Execution): Promise<ServerAnswer> {
    try {
      return await this.#connection.ask(executeOpen(execution), "executed");
    } catch (error) {
      this.#connection.tell(SYNC);
      throw error;
    }
  }

  async #execute(
    { text, values, rowsMax, described }: StatementRead,
    portal: string,
    ask: (execution: Execution) => Promise<ServerAnswer>,
  ): Promise<ServerAnswer> {
    const known = this.#prepared.get(text);
    const name = known ?? this.#nameFor(text);
    try {
      const answer = await ask({ name, text: known === undefined ? text : null, values, described, portal, rowsMax });
      if (known === undefined && name !== "") this.#prepared.set(text, name);
      return answer;
    } catch (error) {
      // A statement that failed ends the transaction of its portals.
      if (this.#transaction === "portal") this.#end("ROLLBACK");
      throw error;
    }
  }

  /** Ends the transaction of the portals. */
  #end(text: "COMMIT" | "ROLLBACK"): void {
    this.#transaction = null;
    this.#portals.clear();
    this.#connection.tell(simpleQuery(text));
  }

  /** A new name at each attempt: it is not known whether a statement that failed is prepared. */
  #nameFor(text: string): string {
    if (this.#prepared.size >= PREPARED_MAX || text === "") return "";
    this.#named += 1;
    return `read_${this.#named}`;
  }
}

function portionOf({ bytes, columns }: ServerAnswer, portal: string | null): ReadPortion {
  return { bytes, columns, portal };
}
