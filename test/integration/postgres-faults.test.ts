/** Commits to PostgreSQL whose connection is cut, whose server is gone or whose disk is full: stored once, or known not to be. */
import { spawnSync } from "node:child_process";
import { chownSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Primitive } from "#protocol/wire/feed";
import type { CommitRequest, WritableStore } from "#storage/port";
import { Connection } from "#storage/postgres/connection";
import { openPostgresStore, type PostgresOptions } from "#storage/postgres/store";
import { emptyDecision } from "#storage/write/batch";
import { putOperation } from "#storage/write/ops";
import { type Cut, CuttingProxy } from "../support/cutting-proxy.ts";
import { type PostgresServer, postgresPrograms, startPostgres, type TestDatabase, urlOf } from "../support/postgres-server.ts";
import { testFolder } from "../support/test-folder.ts";

const programs = postgresPrograms();
const { MILLRACE_TEST_POSTGRES: asked } = process.env;
const skip = programs === null && asked !== "required" ? "PostgreSQL is not installed" : false;

const OPTIONS: PostgresOptions = { stream: "new_block", nowUs: () => 1_000 };
const END_WRITER = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'millrace %'";
const COUNT = "SELECT count FROM counts";

/** The next commit, which adds one to a count. */
function countOne(store: WritableStore, more: (ops: Primitive[]) => void = () => {}): CommitRequest {
  const ops: Primitive[] = [];
  putOperation(ops, "count_runs", { flow_id: 1, state_type: "Running", delta: 1 });
  more(ops);
  const place = { kind: "Batch", number: store.number + 1, generation: 1, refusals: 0, epoch: null } as const;
  return { batch: { ...place, ...emptyDecision(), ops }, logs: { blocks: [], appended: [], nextLogId: store.nextLogId } };
}

/** With a deletion, the commit takes several messages; the last one is COMMIT. */
const withDeletion = (ops: Primitive[]): void => putOperation(ops, "delete_run", { id: 99 });

async function setUp(t: Test, server: PostgresServer, name: string) {
  const database = await server.database(name);
  const proxy = await CuttingProxy.start(database);
  const admin = await Connection.open(database);
  const store = await openPostgresStore(proxy.url(database), OPTIONS);
  t.teardown(async () => {
    await store.close(true);
    await admin.close();
    await proxy.stop();
  });
  const count = async () => (await admin.rows<[number]>(COUNT))[0]?.[0] ?? 0;
  return { database, proxy, admin, store, count };
}

const CUTS: readonly { cut: Cut; more?: (ops: Primitive[]) => void; again: "applied" | "already" }[] = [
  { cut: { message: "fence", when: "before" }, again: "applied" },
  { cut: { message: "fence", when: "within" }, again: "applied" },
  { cut: { message: "fence", when: "after" }, again: "already" },
  { cut: { message: "fence", when: "after, half open" }, again: "already" },
  { cut: { message: "fence", when: "after" }, more: withDeletion, again: "applied" },
  { cut: { message: "FROM runs", when: "after, half open" }, more: withDeletion, again: "applied" },
  { cut: { message: "COMMIT", when: "before" }, more: withDeletion, again: "applied" },
  { cut: { message: "COMMIT", when: "after" }, more: withDeletion, again: "already" },
];

t.test("faults of PostgreSQL", { skip }, async (t) => {
  const server = await startPostgres(programs ?? "no programs of PostgreSQL", ["fsync = off"]);
  t.after(() => server.stop());

  await t.test("a cut connection: the outcome is unknown, and the commit made again is stored once", async (t) => {
    const { proxy, store, count } = await setUp(t, server, "cuts");
    t.match(await store.commit(countOne(store)), { kind: "applied" });
    let stored = 1;
    for (const { cut, more, again } of CUTS) {
      const request = countOne(store, more);
      proxy.cut = cut;
      t.match(
        await store.commit(request),
        { kind: "unknown", error: /connection to PostgreSQL is lost/ },
        `${cut.message}, ${cut.when}`,
      );
      t.equal(proxy.cut, null, "the message was seen");
      stored += 1;
      t.match(await store.commit(request), { kind: again, result: { number: stored } });
      t.equal(await count(), stored);
      t.match(await store.commit(countOne(store)), { kind: "applied", result: { number: ++stored } });
    }
    t.equal(await count(), stored);
  });

  await t.test("while the server is away, a commit stays unknown, whether it was sent or not, and is stored once", async (t) => {
    const { proxy, admin, store, count } = await setUp(t, server, "away");
    proxy.cut = { message: "fence", when: "after" };
    proxy.isDown = true;
    const first = countOne(store);
    t.match(await store.commit(first), { kind: "unknown" });
    t.match(await store.commit(first), { kind: "unknown", error: /does not answer at 127.0.0.1/ });
    proxy.isDown = false;
    t.match(await store.commit(first), { kind: "already" });
    proxy.isDown = true;
    await admin.run(END_WRITER);
    const second = countOne(store);
    t.match(await store.commit(second), { kind: "unknown" });
    t.equal(await store.probe(), false);
    t.match(await store.commit(second), { kind: "unknown", error: /does not answer at 127.0.0.1/ }, "nothing was sent: it waits");
    proxy.isDown = false;
    t.equal(await store.probe(), true);
    t.match(await store.commit(second), { kind: "applied" });
    t.equal(await count(), 2);
  });

  await t.test("a session that is ended during its commit: unknown, then applied", async (t) => {
    const { database, admin, store, count } = await setUp(t, server, "ended");
    t.match(await store.commit(countOne(store)), { kind: "applied" });
    const other = await Connection.open(database);
    await other.run("BEGIN; LOCK TABLE counts");
    const request = countOne(store);
    const outcome = store.commit(request);
    const waits = "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'millrace %' AND wait_event_type = 'Lock'";
    while ((await admin.rows(waits)).length === 0);
    await admin.run(END_WRITER);
    t.match(await outcome, { kind: "unknown" });
    await other.close();
    t.match(await store.commit(request), { kind: "applied" });
    t.equal(await count(), 2);
  });

  await t.test("a server that takes over while the outcome is unknown fences the former owner", async (t) => {
    const { database, proxy, store, count } = await setUp(t, server, "taken");
    proxy.cut = { message: "fence", when: "within" };
    const request = countOne(store);
    t.match(await store.commit(request), { kind: "unknown" });
    const later = await openPostgresStore(urlOf(database), OPTIONS);
    t.match(await later.commit(countOne(later)), { kind: "applied" });
    t.strictSame(await store.commit(request), { kind: "fenced" });
    await later.close(false);
    t.strictSame(await store.commit(request), { kind: "fenced" });
    t.equal(await count(), 1);
  });

  await t.test("an idle writer whose session ends connects again, and has the store before a server that starts", async (t) => {
    const { database, proxy, admin, store, count } = await setUp(t, server, "idle");
    const reconnect = async () => {
      for (;;) {
        const attempt = store.reconnect?.() ?? null;
        if (attempt !== null) return attempt;
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    t.equal(store.reconnect?.(), null, "connected");
    await admin.run(END_WRITER);
    t.strictSame(await reconnect(), { kind: "connected" });
    t.equal(store.reconnect?.(), null);
    await t.rejects(openPostgresStore(urlOf(database), OPTIONS), { fault: "busy", message: /another Millrace has the store/ });
    t.match(await store.commit(countOne(store)), { kind: "applied" });
    proxy.isDown = true;
    await admin.run(END_WRITER);
    t.match(await reconnect(), { kind: "unreachable", error: /does not answer at 127.0.0.1/ });
    const later = await openPostgresStore(urlOf(database), OPTIONS);
    proxy.isDown = false;
    t.strictSame(await reconnect(), { kind: "fenced" });
    t.strictSame(await reconnect(), { kind: "fenced" }, "for good");
    t.strictSame(await store.commit(countOne(store)), { kind: "fenced" });
    t.equal(await count(), 1);
    await later.close(false);
  });

  await t.test("a full disk: refused until there is room", async (t) => {
    const folder = testFolder(t);
    const disk = join(folder, "disk");
    mkdirSync(disk);
    const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m", "none", disk]);
    if (status !== 0) return t.comment("no file system of its own can be mounted here");
    try {
      await fullDisk(t, server, disk);
    } finally {
      spawnSync("umount", ["-l", disk]);
    }
  });
});

/** A database on a small file system, which a file fills. */
async function fullDisk(t: Test, server: PostgresServer, disk: string): Promise<void> {
  const admin = await Connection.open(await server.database("beside"));
  const [[data] = [""]] = await admin.rows<[string]>("SHOW data_directory");
  const { uid, gid } = statSync(data);
  const place = join(disk, "tables");
  mkdirSync(place);
  chownSync(place, uid, gid);
  await admin.run(`CREATE TABLESPACE small LOCATION '${place}'`);
  const database: TestDatabase = await server
    .database("small_disk TABLESPACE small")
    .then((made) => ({ ...made, database: "small_disk" }));
  const store = await openPostgresStore(urlOf(database), OPTIONS);
  t.match(await store.commit(countOne(store)), { kind: "applied" });
  const filler = join(disk, "filler");
  fill(filler);
  const value = Array.from({ length: 40_000 }, (_none, index) => (index * 7919).toString(36)).join("");
  const large = countOne(store, (ops) =>
    putOperation(ops, "put_variable", { name: "v", value, secret: 0, tags: "[]", created_at: 1, updated_at: 1 }),
  );
  t.match(await store.commit(large), { kind: "refused", error: /No space left on device/, disk_full: true });
  rmSync(filler);
  t.equal(await store.probe(), true);
  t.match(await store.commit(large), { kind: "applied" });
  await store.close(false);
  const check = await Connection.open(database);
  t.strictSame(await check.rows(COUNT), [[2]]);
  await check.close();
  await admin.close();
}

function fill(file: string): void {
  const block = Buffer.alloc(4_096);
  try {
    for (;;) writeFileSync(file, block, { flag: "a" });
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOSPC") throw error;
  }
}
