/** A PostgreSQL database as the store: what is refused at its opening, who owns it, and what a commit answers. */
import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import type { CommitRequest, WritableStore } from "#storage/port";
import { Connection } from "#storage/postgres/connection";
import { openPostgresStore, type PostgresOptions } from "#storage/postgres/store";
import { STRETCH_IDS, STRETCH_KIND } from "#storage/schema/codes";
import { buildLogBlocks } from "#storage/schema/log-blocks";
import { emptyDecision } from "#storage/write/batch";
import { putOperation } from "#storage/write/ops";
import { postgresPrograms, startPostgres, type TestDatabase, urlOf } from "../support/postgres-server.ts";
import { putTaskRun, runRow, stateRow } from "../support/storage-rows.ts";

const programs = postgresPrograms();
const { MILLRACE_TEST_POSTGRES: asked } = process.env;
const skip = programs === null && asked !== "required" ? "PostgreSQL is not installed" : false;

const OPTIONS: PostgresOptions = { stream: "new_block", nowUs: () => 1_000 };

/** A commit that puts a position of a cursor. */
function putCursor(store: WritableStore, event_id: number, number = store.number + 1): CommitRequest {
  const ops: Primitive[] = [];
  putOperation(ops, "put_cursor", { name: "c", event_id });
  return requestOf(store, ops, number);
}

function requestOf(store: WritableStore, ops: Primitive[], number = store.number + 1): CommitRequest {
  const place = { kind: "Batch", number, generation: 1, refusals: 0, epoch: null } as const;
  const batch = { ...place, ...emptyDecision(), ops, stream: [0, 1], replies: [number * 10, 200, null] };
  return { batch, logs: buildLogBlocks([1, 0, 1, 4, JSON.stringify([[null, 20, "l", 1, "m"]])], store.nextLogId) };
}

/** Runs statements in a database; returns the rows of the last query. */
async function query(database: TestDatabase, ...texts: string[]): Promise<unknown[][]> {
  const connection = await Connection.open(database);
  let rows: unknown[][] = [];
  for (const text of texts) rows = await connection.rows(text);
  await connection.close();
  return rows;
}

const CURSOR = "SELECT event_id FROM cursors";
const END_WRITERS = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'millrace %'";

t.test("a PostgreSQL database as the store", { skip }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["fsync = off"]);
  t.after(() => server.stop());

  await t.test("what can't be the store is refused, and the text says why", async (t) => {
    const empty = await server.database("empty");
    const open = (change: Partial<TestDatabase>) => openPostgresStore(urlOf({ ...empty, ...change }), OPTIONS);
    await t.rejects(open({ port: 1 }), { fault: "unreachable", message: /PostgreSQL does not answer at .*:1: .*ENOENT/ });
    await t.rejects(open({ database: "missing" }), { fault: "denied", message: /has no database missing: create it/ });
    await t.rejects(open({ user: "stranger" }), { fault: "denied", message: /refuses the user stranger/ });
    await query(empty, "CREATE ROLE guest LOGIN");
    await t.rejects(open({ user: "guest" }), {
      fault: "denied",
      message: /permission denied.*make guest the owner of the database/,
    });
    const foreign = await server.database("foreign_tables");
    await query(foreign, "CREATE TABLE runs (id int)", "CREATE TABLE migrations (id int)");
    await t.rejects(open(foreign), { fault: "foreign", message: /foreign_tables has tables of another program/ });
    t.strictSame(await query(foreign, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"), [[2]], "nothing is added");
    const newer = await server.database("newer");
    await (await open(newer)).close(false);
    await query(newer, "INSERT INTO migrations (version, name) VALUES (99, 'later')");
    await t.rejects(open(newer), { fault: "newer", message: /use a newer Millrace/ });
  });

  await t.test("commits are applied once each, and an opened store continues after them", async (t) => {
    const database = await server.database("continued");
    const store = await openPostgresStore(urlOf(database), { ...OPTIONS, salt: 5 });
    t.strictSame(await query(database, "SELECT value FROM settings WHERE name = 'event_salt'"), [["5"]]);
    t.equal(store.latestSeq, 2 ** 32, "a process begins a block of stream numbers");
    const first = putCursor(store, 7);
    const result = { number: 1, first_event_id: 1, first_seq: 2 ** 32 + 1, logs: [1, 1, 1] };
    t.strictSame(await store.commit(first), { kind: "applied", result });
    t.strictSame(await store.commit(first), { kind: "already", result });
    t.match(store, { number: 1, latestSeq: 2 ** 32 + 1, nextLogId: 2, decidedCommands: [10] });
    await t.rejects(Promise.resolve(store.commit(putCursor(store, 9, 5))), { message: "commit 5 does not follow commit 1" });
    await store.close(false);
    const writers = await openPostgresStore(urlOf(database), { ...OPTIONS, stream: "continue", former: store.owner });
    t.match(writers, { number: 1, latestSeq: 2 ** 32 + 1, decidedCommands: [10], owner: { epoch: store.owner.epoch + 1 } });
    t.strictSame(await writers.commit(first), { kind: "already", result }, "its outcome is known to later writers");
    await writers.close(true);
    const next = await openPostgresStore(urlOf(database), OPTIONS);
    t.match(next, { number: 1, latestSeq: 2 * 2 ** 32, decidedCommands: [] });
    t.match(await next.commit(putCursor(next, 8)), { kind: "applied" });
    t.strictSame(await query(database, CURSOR, "SELECT value FROM settings", CURSOR), [[8]]);
    await next.close(false);
  });

  await t.test("a store has one owner: a second server is refused, and a server that lost its session is fenced", async (t) => {
    const database = await server.database("owned");
    const first = await openPostgresStore(urlOf(database), OPTIONS);
    const text = new RegExp(`another Millrace has the store: millrace .*:${process.pid}, connected since .* UTC; stop it first`);
    await t.rejects(openPostgresStore(urlOf(database), OPTIONS), { fault: "busy", message: text });
    t.match(await first.commit(putCursor(first, 1)), { kind: "applied" }, "the refused one has changed nothing");
    await query(database, END_WRITERS);
    const second = await openPostgresStore(urlOf(database), OPTIONS);
    t.strictSame(await first.commit(putCursor(first, 2)), { kind: "fenced" });
    t.equal(await first.probe(), true, "the next commit says why");
    t.strictSame(await first.commit(putCursor(first, 2)), { kind: "fenced" });
    t.match(await second.commit(putCursor(second, 3)), { kind: "applied" });
    const writers = await openPostgresStore(urlOf(database), { ...OPTIONS, stream: "continue", former: first.owner });
    t.strictSame(await writers.commit(putCursor(writers, 4)), { kind: "fenced" }, "also after a restart of its writers");
    await second.close(false);
    const later = await openPostgresStore(urlOf(database), { ...OPTIONS, stream: "continue", former: first.owner });
    t.strictSame(await later.commit(putCursor(later, 5)), { kind: "fenced" }, "and after the end of the second");
    t.strictSame(await query(database, CURSOR), [[3]]);
    await Promise.all([first, writers, later].map((store) => store.close(false)));
  });

  await t.test("a former owner with a session of its own is fenced by the epoch", async (t) => {
    const database = await server.database("epochs");
    const store = await openPostgresStore(urlOf(database), OPTIONS);
    await query(database, "UPDATE members SET epoch = epoch + 1");
    t.strictSame(await store.commit(putCursor(store, 1)), { kind: "fenced" });
    t.strictSame(await query(database, CURSOR), []);
    await store.close(false);
  });

  await t.test(
    "a commit that finds other rows than it expects is a defect, stores nothing, and names the statement",
    async (t) => {
      const database = await server.database("exact");
      await (await openPostgresStore(urlOf(database), OPTIONS)).close(false);
      const run = "INSERT INTO live_runs SELECT (r).* FROM (SELECT jsonb_populate_record(NULL::live_runs, $$";
      const row = {
        id: 9,
        flow_id: 1,
        external_id: "",
        state_type: 0,
        state_timestamp: 1,
        created_at: 1,
        priority: 0,
        attempt: 0,
      };
      const rest = { report_seq: 0, crash_count: 0, failure_count: 0, created_by: "", name: "", reruns: 0 };
      const bits = { assigned: 0, alone: 0, uncounted: 0 };
      await query(database, `${run}${JSON.stringify({ ...row, ...rest, ...bits })}$$) AS r) AS made`);
      const store = await openPostgresStore(urlOf(database), OPTIONS);
      t.match(await store.commit(putCursor(store, 1)), { kind: "applied" });
      await query(database, "DELETE FROM live_runs");
      const ops: Primitive[] = [];
      putOperation(ops, "update_run", { id: 9, ...stateRow("Running") });
      const message = /commit 2 found other rows than expected: .*UPDATE live_runs.* for 1 rows: 9/s;
      await t.rejects(Promise.resolve(store.commit(requestOf(store, ops))), { fault: "operation", message });
      t.strictSame(await query(database, "SELECT number FROM members"), [[1]]);
      t.match(await store.commit(putCursor(store, 2)), { kind: "applied" });
      await store.close(false);
    },
  );

  await t.test("a run that ended before the start of the writers is reported on, revived and ended again", async (t) => {
    const database = await server.database("ended_before");
    const commit = async (put: (ops: Primitive[]) => void) => {
      const store = await openPostgresStore(urlOf(database), OPTIONS);
      const ops: Primitive[] = [];
      put(ops);
      t.match(await store.commit(requestOf(store, ops)), { kind: "applied" });
      return store;
    };
    const ended = stateRow("Failed", { end_time: 5 });
    const first = await commit((ops) => putOperation(ops, "insert_run", runRow(1, ended, { flow_id: 4 })));
    await first.close(false);
    const flows = `SELECT stretch, value FROM stretches WHERE kind = ${STRETCH_KIND.task_flow} ORDER BY stretch`;
    const second = await commit((ops) => putTaskRun(ops, 1, 1, "Failed", "Failed"));
    t.strictSame(await query(database, flows), [[0, 4]], "the flow of an ended run is found");
    await second.close(false);
    const third = await commit((ops) => putOperation(ops, "update_run", { id: 1, ...stateRow("Running") }));
    const ops: Primitive[] = [];
    putTaskRun(ops, STRETCH_IDS, 1, "Running", "Running");
    t.match(await third.commit(requestOf(third, ops)), { kind: "applied" });
    t.strictSame(
      await query(database, flows),
      [
        [0, 4],
        [1, 4],
      ],
      "and that of a revived one",
    );
    const end: Primitive[] = [];
    putOperation(end, "update_run", { id: 1, ...ended });
    t.match(await third.commit(requestOf(third, end)), { kind: "applied" });
    t.strictSame(await query(database, "SELECT id FROM ended_runs"), [[1]]);
    t.strictSame(await query(database, "SELECT id FROM live_runs"), []);
    await third.close(false);
  });

  await t.test("a store that takes no writes refuses commits until a probe succeeds", async (t) => {
    const database = await server.database("read_only");
    const store = await openPostgresStore(urlOf(database), OPTIONS);
    await query(database, "ALTER DATABASE read_only SET default_transaction_read_only = on", END_WRITERS);
    t.match(await store.commit(putCursor(store, 1)), { kind: "refused", error: /read-only transaction/, disk_full: false });
    t.equal(await store.probe(), false);
    await query(database, "SET default_transaction_read_only = off", "ALTER DATABASE read_only RESET ALL", END_WRITERS);
    t.equal(await store.probe(), true);
    t.match(await store.commit(putCursor(store, 2)), { kind: "applied" });
    t.strictSame(await query(database, CURSOR), [[2]]);
    t.strictSame(await query(database, "SELECT count(*) FROM settings WHERE name = 'probe'"), [[0]]);
    await store.close(false);
  });
});
