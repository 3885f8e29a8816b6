/** The owner of the store: of two that have opened it, the later one writes. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { replaceStore } from "#storage/home/copy";
import type { Owner } from "#storage/port";
import type { Database } from "#storage/sqlite/driver";
import { putOperation } from "#storage/write/ops";
import { SqliteStore } from "#storage/write/sqlite-store";
import { openWriteHandle } from "#storage/write/write-handle";
import { Writer } from "#storage/write/writer";
import { request } from "../../support/storage-rows.ts";

interface Process {
  database: Database;
  store: SqliteStore;
  /** Commits a position of a cursor under the next number. */
  put(position: number): string;
  restart(): void;
}

/** A process that opens the store for writing. */
function begin(t: Test, path: string): Process {
  const database = openWriteHandle(path, { durability: "normal", salt: 1 });
  t.teardown(() => database.close());
  const open = (former: Owner | null): [Writer, SqliteStore] => {
    const writer = new Writer(database, { stream: former === null ? "new_block" : "continue", former, nowUs: () => 0 });
    return [writer, new SqliteStore(writer, () => undefined)];
  };
  let [writer, store] = open(null);
  return {
    database,
    get store() {
      return store;
    },
    put: (position) => {
      const ops: Primitive[] = [];
      putOperation(ops, "put_cursor", { name: "c", event_id: position });
      return store.commit(request(writer, store.number + 1, { ops })).kind;
    },
    restart: () => {
      [writer, store] = open(store.owner);
    },
  };
}

function position({ database }: Process): number | undefined {
  return database.prepareRaw<[number]>("SELECT event_id FROM cursors").get()?.[0];
}

t.test("a store opened twice: the former owner writes nothing more, also after a restart of its writers", async (t) => {
  const path = join(t.testdir(), "db.sqlite");
  const former = begin(t, path);
  t.equal(former.put(1), "applied");
  const later = begin(t, path);
  t.equal(later.store.owner.epoch, former.store.owner.epoch + 1);
  t.equal(former.put(2), "fenced");
  t.equal(later.put(3), "applied");
  t.equal(former.put(4), "fenced");
  former.restart();
  t.equal(former.put(5), "fenced");
  t.equal(position(later), 3);
  t.equal(later.put(6), "applied");
});

t.test("writers that start again go on after the newest commit, in an epoch of their own", async (t) => {
  const process = begin(t, join(t.testdir(), "db.sqlite"));
  t.equal(process.put(1), "applied");
  const { owner, number } = process.store;
  process.restart();
  t.same(process.store.owner, { ...owner, epoch: owner.epoch + 1 });
  t.equal(process.store.number, number);
  t.equal(process.put(2), "applied");
});

t.test("copies of a store are stores of their own: each is written by its own process", async (t) => {
  const folder = t.testdir();
  const [path, copy] = [join(folder, "db.sqlite"), join(folder, "copy.sqlite")];
  const first = begin(t, path);
  first.put(1);
  first.database.pragma("wal_checkpoint(TRUNCATE)");
  copyFileSync(path, copy);
  const second = begin(t, copy);
  t.equal(first.put(2), "applied");
  t.equal(second.put(3), "applied");
  t.same([position(first), position(second)], [2, 3]);
});

t.test("a restored backup has an epoch that no process has had", async (t) => {
  const folder = t.testdir();
  const [path, backup, aside] = [join(folder, "db.sqlite"), join(folder, "backup.sqlite"), join(folder, "aside.sqlite")];
  const first = begin(t, path);
  first.put(1);
  first.database.pragma("wal_checkpoint(TRUNCATE)");
  copyFileSync(path, backup);
  for (let starts = 0; starts < 3; starts += 1) first.restart();
  first.put(2);
  const { epoch } = first.store.owner;
  replaceStore(path, backup, aside);
  const restored = begin(t, path);
  t.equal(position(restored), 1);
  t.ok(restored.store.owner.epoch > epoch);
  t.equal(restored.put(3), "applied");
});
