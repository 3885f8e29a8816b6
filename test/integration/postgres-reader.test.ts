/** Reads of PostgreSQL that block the calling thread: rows, errors, and that no caller waits for ever. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import t, { type Test } from "tap";
import { BlockingReader, type ReadFailed, startReaderThread } from "#storage/postgres/blocking-reader";
import { Connection } from "#storage/postgres/connection";
import { postgresPrograms, startPostgres } from "../support/postgres-server.ts";

const programs = postgresPrograms();
const { MILLRACE_TEST_POSTGRES: asked } = process.env;
const skip = programs === null && asked !== "required" ? "PostgreSQL is not installed" : false;

const LIMIT_MS = 5_000;

t.test("blocking reads of PostgreSQL", { skip }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["fsync = off"]);
  t.after(() => server.stop());
  const settings = await server.database("reads");
  const thread = startReaderThread();
  t.teardown(() => thread.stop());

  function reader(t: Test, limitMs = LIMIT_MS): BlockingReader {
    const made = new BlockingReader(thread.connect(settings, { limitMs, patienceMs: 0 }));
    t.teardown(() => made.close());
    return made;
  }

  function failure(read: () => unknown): ReadFailed {
    try {
      read();
    } catch (error) {
      return error as ReadFailed;
    }
    throw new Error("the read did not fail");
  }

  const usable = (t: Test, reads: BlockingReader) =>
    t.strictSame(reads.all("SELECT 7::int8 AS n"), { columns: ["n"], rows: [[7]] }, "usable afterwards");

  await t.test("rows are decoded, by column", async (t) => {
    const reads = reader(t);
    const text = "SELECT n, 't' || n AS text, decode('00ff', 'hex') AS bytes, NULL AS none FROM generate_series(1, $1::int8) n";
    const { columns, rows } = reads.all(text, [2]);
    t.strictSame(columns, ["n", "text", "bytes", "none"]);
    t.strictSame(rows, [
      [1, "t1", new Uint8Array([0, 255]), null],
      [2, "t2", new Uint8Array([0, 255]), null],
    ]);
    t.strictSame(reads.all(text, [2], 1).rows.length, 1, "the first row");
    t.strictSame(reads.all(text, [0]).rows, []);
  });

  await t.test("a large result arrives whole", async (t) => {
    const { rows } = reader(t).all("SELECT repeat('ä', 1000) AS text FROM generate_series(1, 5000)");
    t.equal(rows.length, 5_000);
    t.ok(rows.every(([text]) => String(text).length === 1_000));
  });

  await t.test("an error of the statement reaches the caller", async (t) => {
    const reads = reader(t);
    const { code, message } = failure(() => reads.all("SELECT 1 FROM no_such_table"));
    t.equal(code, "42P01");
    t.match(message, /no_such_table/);
    t.equal(failure(() => reads.all("CREATE TABLE written ()")).code, "25006", "nothing is written");
    usable(t, reads);
  });

  await t.test("a statement is cancelled after the time limit", async (t) => {
    const reads = reader(t, 50);
    t.equal(failure(() => reads.all("SELECT pg_sleep(60)")).code, "57014");
    usable(t, reads);
  });

  await t.test("a locked table is an error that says so", async (t) => {
    const reads = reader(t, 200);
    const holder = await Connection.open(settings);
    t.teardown(() => holder.close());
    await holder.run("CREATE TABLE locked ()");
    await holder.run("BEGIN; LOCK TABLE locked");
    t.match(
      failure(() => reads.all("SELECT 1 FROM locked")),
      {
        name: "StorageError",
        fault: "busy",
        message: /another session has locked a table of the store/,
      },
    );
    usable(t, reads);
  });

  await t.test("a connection that is lost while the caller waits is an error, and the next read has a new one", async (t) => {
    const reads = reader(t);
    t.equal(failure(() => reads.all("SELECT pg_terminate_backend(pg_backend_pid())")).code, "57P01");
    usable(t, reads);
  });

  await t.test("a connection that is lost between two reads is no error", async (t) => {
    const reads = reader(t);
    const pid = Number(reads.all("SELECT pg_backend_pid()").rows[0]?.[0]);
    const other = reader(t);
    other.all("SELECT pg_terminate_backend($1::int4, 5000)", [pid]);
    // The thread of both hears of the loss before it hears of a later answer.
    usable(t, other);
    usable(t, reads);
  });

  await t.test("a connection that falls silent is an error, and the next read has a new one", async (t) => {
    const reads = reader(t, 50);
    const pid = Number(reads.all("SELECT pg_backend_pid()").rows[0]?.[0]);
    process.kill(pid, "SIGSTOP");
    try {
      t.match(failure(() => reads.all("SELECT 1")).message, /connection to PostgreSQL does not answer/);
      usable(t, reads);
    } finally {
      process.kill(pid, "SIGCONT");
    }
  });

  await t.test("a caller on another thread that waits holds up no other caller", async (t) => {
    const reads = reader(t);
    const holder = await Connection.open(settings);
    t.teardown(() => holder.close());
    await holder.run("SELECT pg_advisory_lock(1)");
    const link = thread.connect(settings, { limitMs: LIMIT_MS, patienceMs: 0 });
    const text = "SELECT 8 AS n FROM pg_advisory_lock_shared(1)";
    const caller = new Worker(new URL("../support/blocking-caller.ts", import.meta.url), {
      workerData: { link, text },
      transferList: [link.port],
    });
    const rows = once(caller, "message");
    const waiting = "SELECT 1 AS found FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    while (reads.all(waiting).rows.length === 0) await holder.run("SELECT 1");
    usable(t, reads);
    await holder.run("SELECT pg_advisory_unlock(1)");
    t.strictSame(await rows, [{ columns: ["n"], rows: [[8]] }]);
  });

  await t.test("portions of a result, with other reads between them", async (t) => {
    const reads = reader(t);
    const text = "SELECT n FROM generate_series(1, $1::int8) n";
    const first = reads.open(text, [5], 2);
    t.strictSame(first.table.rows, [[1], [2]]);
    usable(t, reads);
    const inner = reads.open(text, [4], 3);
    const { portal, table } = reads.next(first.portal ?? "", 2);
    t.strictSame(table.rows, [[3], [4]]);
    t.strictSame(reads.next(portal ?? "", 2), { table: { columns: ["n"], rows: [[5]] }, portal: null });
    reads.closePortal(inner.portal ?? "");
    t.match(
      failure(() => reads.next(inner.portal ?? "", 1)),
      { fault: "reader", message: /the portal is closed/ },
    );
    const { rows } = reads.all("SELECT count(*) FROM pg_cursors WHERE name <> ''");
    t.strictSame(rows, [[0]], "nothing is left open");
    t.strictSame(reads.open(text, [1], 2), { table: { columns: ["n"], rows: [[1]] }, portal: null });
  });

  await t.test("reads between BEGIN and COMMIT see one state", async (t) => {
    const writer = await Connection.open(settings);
    t.teardown(() => writer.close());
    await writer.run("CREATE TABLE seen (n int8)");
    const reads = reader(t);
    const count = () => reads.all("SELECT count(*) FROM seen").rows[0]?.[0];
    reads.exec("BEGIN");
    t.equal(count(), 0);
    await writer.run("INSERT INTO seen VALUES (1)");
    t.equal(count(), 0);
    reads.exec("COMMIT");
    t.equal(count(), 1);
  });

  await t.test("with patience, a read outlives the loss of its connection, but no transaction and no portal does", async (t) => {
    const reads = new BlockingReader(thread.connect(settings, { limitMs: LIMIT_MS, patienceMs: 60_000 }));
    t.teardown(() => reads.close());
    const other = await Connection.open(settings);
    t.teardown(() => other.close());
    const cut = async () => {
      const pid = Number(reads.all("SELECT pg_backend_pid()").rows[0]?.[0]);
      await other.rows("SELECT pg_terminate_backend($1::int4, 5000)", [pid]);
    };
    await cut();
    usable(t, reads);
    reads.exec("BEGIN");
    await cut();
    t.equal(failure(() => reads.all("SELECT 1")).fault, "unreachable", "another connection would show another state");
    reads.exec("COMMIT");
    usable(t, reads);
    const { portal } = reads.open("SELECT n FROM generate_series(1, 5) n", [], 2);
    await cut();
    t.not(failure(() => reads.next(portal ?? "", 2)).fault, "operation", "a lost connection is no defect");
    usable(t, reads);
  });

  await t.test("a helper thread that has ended is an error", async (t) => {
    const other = startReaderThread();
    // The first read also waits for the start of the thread.
    const reads = new BlockingReader(other.connect(settings, { limitMs: 2_000, patienceMs: 0 }));
    usable(t, reads);
    await other.stop();
    t.match(failure(() => reads.all("SELECT 1")).message, /does not answer/);
    reads.close();
  });
});
