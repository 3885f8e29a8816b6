/**
 * Queries that the thread which asks answers itself, while the database executes their statements in a process of its own: with
 * PostgreSQL, the way through a reader thread would take longer than the statements.
 */
import type { Settings } from "../postgres/connection.ts";
import { type EXCEEDED, Replay } from "../postgres/replay.ts";
import { SessionPool } from "../postgres/session-pool.ts";
import type { AnswerPart } from "../queries/answer-part.ts";
import { type QueryArguments, type QueryName, runPart } from "../queries/named.ts";
import { StorageError } from "../sqlite/storage-error.ts";
import { QUERIES_MAX, READ_LIMIT_MS } from "./read-pool.ts";

export { EXCEEDED } from "../postgres/replay.ts";

/** Statements that the database executes at the same time. */
const SESSIONS_MAX = 4;

export class AwaitedQueries {
  readonly #sessions: SessionPool;
  readonly #replay = new Replay();
  #queries = 0;

  constructor(settings: Settings) {
    this.#sessions = new SessionPool(settings, { limitMs: READ_LIMIT_MS }, SESSIONS_MAX);
  }

  /**
   * The first part of the result, or the part that the arguments name; null when the subject of the query does not exist; EXCEEDED
   * for a query that a reader thread has to answer.
   *
   * @throws StorageError as ReadPool.run does
   */
  async run<N extends QueryName>(
    name: N,
    args: QueryArguments[N],
  ): Promise<AnswerPart<QueryArguments[N]> | null | typeof EXCEEDED> {
    if (this.#queries >= QUERIES_MAX) throw new StorageError("queue", `${name}: ${QUERIES_MAX} queries wait for a connection`);
    this.#queries += 1;
    try {
      return await this.#sessions.use((session) => this.#replay.answer(session, (statements) => runPart(statements, name, args)));
    } finally {
      this.#queries -= 1;
    }
  }

  close(): void {
    this.#sessions.close();
  }
}
