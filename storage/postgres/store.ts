/**
 * PostgreSQL behind the port of the writers. A commit whose connection is lost has an unknown outcome; the next attempt connects
 * again, and the row of the owner says whether the commit is stored. After a failed commit the folder is made from the stored marks.
 */
import { randomInt } from "node:crypto";
import type { CommitOutcome, CommitRequest, Owner, Reconnection, WritableStore } from "../port.ts";
import { COUNTED, type Counted } from "../schema/codes.ts";
import { StorageError } from "../sqlite/storage-error.ts";
import { commitFolded } from "./commit.ts";
import { CommitMessages } from "./commit-messages.ts";
import type { Connection } from "./connection.ts";
import { isLost, toPostgresError, withRights } from "./errors.ts";
import { BatchFolder } from "./fold-batch.ts";
import { loadMarks } from "./marks.ts";
import { MEMBER, type Opening, readStanding, type Standing, takeOver } from "./member-row.ts";
import { migratePostgres } from "./migrate.ts";
import { checkConnectionLimits, openSession, type Session } from "./session.ts";

export interface PostgresOptions extends Opening {
  /** The wall clock, for the time of a commit in the marks of runs. */
  nowUs(): number;
  /** Mixed into the external ids of events, set once per store; random when not given. */
  salt?: number;
}

/** A write that leaves no row, as large as a page and as random, so that the server has to find room for it. */
const PROBE = `INSERT INTO settings (name, value)
    SELECT 'probe', string_agg(md5(random()::text), '') FROM generate_series(1, 256);
  DELETE FROM settings WHERE name = 'probe'`;

/** Opens (migrates) the store for writing. Throws a StorageError when it can't be used, or while another server has it. */
export async function openPostgresStore(url: string, options: PostgresOptions): Promise<WritableStore> {
  const session = await openSession(url, null);
  const { connection, holder } = session;
  const former = options.former ?? null;
  try {
    if (holder === null) await prepare(connection, options);
    else if (former === null) throw new StorageError("busy", `another Millrace has the store: ${holder}; stop it first`);
    const found = await readStanding(connection);
    // Where another process has opened the store since, these writers stay in an epoch in which no commit is applied.
    const isFenced = holder !== null || (former !== null && former.epoch !== found.epoch);
    const standing = isFenced ? found : await takeOver(connection, options).catch((cause: unknown) => keep(found, former, cause));
    return new PostgresStore(url, options, session, standing, isFenced ? former : null);
  } catch (cause) {
    connection.drop();
    throw withRights(toPostgresError(cause), connection.place);
  }
}

/** Writers that start again while the store takes no writes go on in the epoch they have. */
function keep(found: Standing, former: Owner | null, cause: unknown): Standing {
  const { fault } = toPostgresError(cause);
  if (former === null || (fault !== "full" && fault !== "io" && fault !== "busy")) throw cause;
  return found;
}

async function prepare(connection: Connection, { salt = randomInt(2 ** 32 - 1) }: PostgresOptions): Promise<void> {
  await checkConnectionLimits(connection);
  await migratePostgres(connection);
  const put = "INSERT INTO settings (name, value) VALUES ('event_salt', $1) ON CONFLICT DO NOTHING";
  const [known] = await connection.rows("SELECT 1 FROM settings WHERE name = 'event_salt'");
  if (known === undefined) await connection.rows(put, [String(salt)]);
}

class PostgresStore implements WritableStore {
  readonly owner: Owner;
  readonly #url: string;
  readonly #options: PostgresOptions;
  #session: Session;
  #commits = new CommitMessages();
  #standing: Standing;
  /** Null until it is made from the stored marks. */
  #folder: BatchFolder | null = null;
  #isFenced: boolean;
  #isClosed = false;
  /** The commit that was sent and not answered. */
  #open: number | null = null;

  /** @param fenced the owner of writers that no longer own the store */
  constructor(url: string, options: PostgresOptions, session: Session, standing: Standing, fenced: Owner | null) {
    this.#url = url;
    this.#options = options;
    this.#session = session;
    this.#standing = standing;
    this.#isFenced = fenced !== null;
    this.owner = fenced ?? { member: MEMBER, epoch: standing.epoch };
    if (this.#isFenced) session.connection.drop();
  }

  get number(): number {
    return this.#standing.newest.number;
  }

  get latestSeq(): number {
    return this.#counter("stream");
  }

  get nextLogId(): number {
    return this.#counter("logs") + 1;
  }

  get decidedCommands(): readonly number[] {
    return this.#standing.commands;
  }

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    const { number } = request.batch;
    try {
      return this.#known(number) ?? (await this.#reconnect()) ?? this.#known(number) ?? (await this.#commit(request));
    } catch (cause) {
      this.#folder = null;
      const error = toPostgresError(cause);
      if (error.fault === "operation" || error.fault === "foreign" || error.fault === "newer") throw error;
      // A database that does not answer is waited for, also when nothing was sent: a refusal would make the core load its state again.
      if (this.#open === number || error.fault === "unreachable") return { kind: "unknown", error: error.message };
      return { kind: "refused", error: error.message, disk_full: error.disk_full };
    }
  }

  async probe(): Promise<boolean> {
    try {
      await this.#reconnect();
      if (!this.#isFenced) await this.#session.connection.run(PROBE);
      return true;
    } catch {
      return false;
    }
  }

  reconnect(): Promise<Reconnection> | null {
    if (this.#isClosed || (!this.#isFenced && this.#session.connection.isOpen)) return null;
    return this.#reconnect().then(
      () => (this.#isFenced ? { kind: "fenced" } : { kind: "connected" }),
      (cause: unknown) => ({ kind: "unreachable", error: toPostgresError(cause).message }),
    );
  }

  async close(failed: boolean): Promise<void> {
    this.#isClosed = true;
    const { connection } = this.#session;
    if (failed || !connection.isOpen) return connection.drop();
    await connection.close();
  }

  #counter(name: Counted): number {
    return this.#standing.counters[COUNTED.indexOf(name)] ?? 0;
  }

  /** The outcome of a commit that needs no statement. */
  #known(number: number): CommitOutcome | null {
    if (number === this.number) return { kind: "already", result: this.#standing.newest };
    return this.#isFenced ? { kind: "fenced" } : null;
  }

  /** Makes a new connection when the one before was lost, and reads what is stored. */
  async #reconnect(): Promise<null> {
    if (this.#isFenced || this.#session.connection.isOpen) return null;
    if (this.#isClosed) throw new StorageError("unreachable", "the store is closed");
    this.#folder = null;
    const session = await openSession(this.#url, this.#session.backend);
    try {
      const standing = await readStanding(session.connection);
      this.#session = session;
      this.#commits = new CommitMessages();
      this.#open = null;
      if (session.holder !== null || standing.epoch !== this.owner.epoch) this.#fence();
      else this.#standing = standing;
    } catch (cause) {
      session.connection.drop();
      throw cause;
    }
    return null;
  }

  #fence(): void {
    this.#isFenced = true;
    this.#session.connection.drop();
  }

  async #commit(request: CommitRequest): Promise<CommitOutcome> {
    const { number } = request.batch;
    const { connection } = this.#session;
    this.#folder ??= new BatchFolder(await loadMarks(connection, this.#standing.counters), this.#options.nowUs);
    const folded = this.#folder.fold(request);
    this.#open = number;
    try {
      const divergence = await commitFolded(connection, this.#commits, this.owner, folded);
      this.#open = null;
      if (divergence !== null) return await this.#diverged(number, divergence.statement);
    } catch (cause) {
      if (isLost(cause)) connection.drop();
      else this.#open = null;
      throw cause;
    }
    if (folded.isOutdated) this.#folder = null;
    const { epoch } = this.#standing;
    this.#standing = { epoch, counters: folded.counters, newest: folded.result, commands: folded.commands };
    return { kind: "applied", result: folded.result };
  }

  /** The store was not as expected: another owner has it, or there is a defect. */
  async #diverged(number: number, statement: string): Promise<CommitOutcome> {
    this.#folder = null;
    const standing = await readStanding(this.#session.connection);
    if (standing.epoch !== this.owner.epoch) {
      this.#fence();
      return { kind: "fenced" };
    }
    const { number: newest } = standing.newest;
    if (number !== newest + 1) throw new StorageError("operation", `commit ${number} does not follow commit ${newest}`);
    throw new StorageError("operation", `commit ${number} found other rows than expected: ${statement}`);
  }
}
