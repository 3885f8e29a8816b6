/** Reads of PostgreSQL that block no thread: connections that several reads share, and queries called again with rows. */
import t, { type Test } from "tap";
import { Connection } from "#storage/postgres/connection";
import type { ReadSession } from "#storage/postgres/read-session";
import { EXCEEDED, Replay } from "#storage/postgres/replay";
import { SessionPool } from "#storage/postgres/session-pool";
import type { Statements } from "#storage/sqlite/statements";
import type { StorageError } from "#storage/sqlite/storage-error";
import { postgresPrograms, startPostgres, type TestDatabase } from "../support/postgres-server.ts";

const programs = postgresPrograms();
const { MILLRACE_TEST_POSTGRES: asked } = process.env;
const skip = programs === null && asked !== "required" ? "PostgreSQL is not installed" : false;

const LIMIT_MS = 10_000;
/** More than the first portion of an iteration. */
const MANY_ROWS = 1_000;

async function failure(reading: Promise<unknown>): Promise<StorageError> {
  try {
    await reading;
  } catch (error) {
    return error as StorageError;
  }
  throw new Error("the read did not fail");
}

const numbers = (statements: Statements, most: number) =>
  statements.raw<[number]>("SELECT n FROM generate_series(1, ?) AS n").iterate(most);

/** The sum of the first numbers, each read by a statement of its own. */
function sumOf(statements: Statements, count: number): number {
  let sum = 0;
  for (let number = 1; number <= count; number += 1) sum += statements.raw<[number]>("SELECT ?::int8").get(number)?.[0] ?? 0;
  return sum;
}

async function pidOf(session: ReadSession): Promise<number> {
  const pid = await new Replay().answer(session, (statements) => statements.raw<[number]>("SELECT pg_backend_pid()").get()?.[0]);
  return Number(pid);
}

t.test("awaited reads of PostgreSQL", { skip }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["fsync = off"]);
  t.after(() => server.stop());
  const settings = await server.database("awaited");
  const replay = new Replay();

  function pool(t: Test, { limitMs = LIMIT_MS, sessionsMax = 2, place = {} as Partial<TestDatabase> } = {}): SessionPool {
    const made = new SessionPool({ ...settings, ...place }, { limitMs }, sessionsMax);
    t.teardown(() => made.close());
    return made;
  }

  const answer = <Result>(sessions: SessionPool, query: (statements: Statements) => Result) =>
    sessions.use((session) => replay.answer(session, query));

  const usable = async (t: Test, sessions: SessionPool) =>
    t.equal(await answer(sessions, (statements) => sumOf(statements, 3)), 6, "usable afterwards");

  await t.test("a query has the rows of all its statements", async (t) => {
    const sessions = pool(t);
    let calls = 0;
    const found = await answer(sessions, (statements) => {
      calls += 1;
      const rows = [...numbers(statements, 3)].map(([n]) => n);
      const named = statements.named<{ sum: number }>("SELECT ?::int8 + ?::int8 AS sum").get(rows.length, 4);
      return { rows, named, again: [...numbers(statements, 3)].length };
    });
    t.strictSame(found, { rows: [1, 2, 3], named: { sum: 7 }, again: 3 });
    t.equal(calls, 3, "once for each statement, and once with all rows; a statement that is repeated has its rows");
    t.equal(await answer(sessions, (statements) => sumOf(statements, 12)), 78);
  });

  await t.test("a query that reads much is left to a reader thread", async (t) => {
    const sessions = pool(t);
    t.equal(await answer(sessions, (statements) => sumOf(statements, 13)), EXCEEDED, "statements");
    t.equal(await answer(sessions, (statements) => [...numbers(statements, MANY_ROWS)].length), EXCEEDED, "rows");
    t.equal(await answer(sessions, ({ database }) => database.exec("BEGIN")), EXCEEDED, "a transaction");
    const first = await answer(sessions, (statements) => {
      for (const [n] of numbers(statements, MANY_ROWS)) if (n === 5) return n;
      return null;
    });
    t.equal(first, 5, "a query that leaves its rows early does not read much");
    await usable(t, sessions);
  });

  await t.test("queries of several connections do not mix", async (t) => {
    const sessions = pool(t);
    const counts = Array.from({ length: 40 }, (_each, index) => index % 12);
    const sums = await Promise.all(counts.map((count) => answer(sessions, (statements) => sumOf(statements, count))));
    t.strictSame(
      sums,
      counts.map((count) => (count * (count + 1)) / 2),
    );
  });

  await t.test("an error of a statement or of the query reaches the caller", async (t) => {
    const sessions = pool(t);
    const missing = await failure(answer(sessions, (statements) => statements.raw("SELECT 1 FROM no_such_table").all()));
    t.match(missing, { name: "StorageError", fault: "operation", message: /no_such_table/ });
    const own = await failure(
      answer(sessions, () => {
        throw new RangeError("of the query");
      }),
    );
    t.equal(own.name, "RangeError");
    await usable(t, sessions);
  });

  await t.test("a statement is cancelled after the time limit, and a query of several ends somewhat later", async (t) => {
    const sessions = pool(t, { limitMs: 200 });
    const slow = await failure(answer(sessions, (statements) => statements.raw("SELECT pg_sleep(60)").get()));
    t.equal(slow.fault, "query");
    await usable(t, sessions);
    const long = await failure(
      answer(sessions, (statements) => {
        for (let index = 0; index < 12; index += 1) statements.raw("SELECT pg_sleep(0.15), ?::int8").get(index);
      }),
    );
    t.match(long, { fault: "query", message: /took longer than 200 ms/ });
    await usable(t, sessions);
  });

  await t.test("reads wait for one of the connections, in order, and not without end", async (t) => {
    const sessions = pool(t, { sessionsMax: 1, limitMs: 200 });
    const order: number[] = [];
    const held = sessions.use(async (session) => {
      order.push(0);
      await replay.answer(session, (statements) => statements.raw("SELECT pg_sleep(0.05)").get());
    });
    await Promise.all([held, ...[1, 2, 3].map((index) => sessions.use(async () => void order.push(index)))]);
    t.strictSame(order, [0, 1, 2, 3]);
    const release = Promise.withResolvers<void>();
    const long = sessions.use(() => release.promise);
    t.match(await failure(answer(sessions, (statements) => sumOf(statements, 1))), {
      fault: "query",
      message: /no connection was free/,
    });
    release.resolve();
    await long;
    await usable(t, sessions);
  });

  await t.test("beyond the limit of the role, reads share the connections that it may have", async (t) => {
    const owner = await Connection.open(settings);
    t.teardown(() => owner.close());
    await owner.run("CREATE ROLE narrow LOGIN CONNECTION LIMIT 1");
    const sessions = pool(t, { sessionsMax: 4, place: { user: "narrow" } });
    const pids = await Promise.all([1, 2, 3, 4, 5].map(() => sessions.use(pidOf)));
    t.equal(new Set(pids).size, 1);
  });

  await t.test("a connection that is lost or falls silent is replaced", async (t) => {
    const sessions = pool(t, { limitMs: 300, sessionsMax: 1 });
    const killed = await failure(
      answer(sessions, (statements) => statements.raw("SELECT pg_terminate_backend(pg_backend_pid())").get()),
    );
    t.equal(killed.fault, "unreachable");
    await usable(t, sessions);
    const pid = await sessions.use(pidOf);
    process.kill(pid, "SIGSTOP");
    try {
      t.match(await failure(answer(sessions, (statements) => sumOf(statements, 2))), {
        fault: "query",
        message: /took longer than 300 ms/,
      });
      await usable(t, sessions);
    } finally {
      process.kill(pid, "SIGCONT");
    }
  });

  await t.test("without a server, all reads fail at once and later ones try again", async (t) => {
    const sessions = pool(t, { sessionsMax: 2, place: { port: 1 } });
    for (let round = 0; round < 2; round += 1) {
      const failed = await Promise.all([1, 2, 3, 4].map(() => failure(sessions.use(pidOf))));
      t.strictSame(
        failed.map(({ fault }) => fault),
        ["unreachable", "unreachable", "unreachable", "unreachable"],
      );
    }
  });

  await t.test("after the end, reads are refused, also those that wait", async (t) => {
    const sessions = pool(t, { sessionsMax: 1 });
    const release = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    const running = sessions.use(() => {
      began.resolve();
      return release.promise;
    });
    await began.promise;
    const waiting = failure(sessions.use(pidOf));
    // The read has to wait before the end.
    await new Promise((resolve) => setImmediate(resolve));
    sessions.close();
    t.match(await waiting, { message: /closed/ });
    t.match(await failure(sessions.use(pidOf)), { message: /closed/ });
    release.resolve();
    await running;
  });
});
