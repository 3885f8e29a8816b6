/** The codes of names: users choose event names and tags, so only some of them stay in memory. */
import t from "tap";
import { IN_MEMORY } from "#storage/read/read-handle";
import { NAMES_KEPT_MAX, Names } from "#storage/schema/names";
import { Statements } from "#storage/sqlite/statements";
import { openWriteHandle } from "#storage/write/write-handle";

const COUNT = 3 * NAMES_KEPT_MAX;

function open(): Statements {
  return new Statements(openWriteHandle(IN_MEMORY, { durability: "normal", salt: 7 }));
}

function codesOf(names: Names): number[] {
  return Array.from({ length: COUNT }, (_, index) => names.code(`name ${index}`));
}

t.test("any number of names has one code each, of which a bounded number is in memory", async (t) => {
  const names = new Names(open());
  const codes = codesOf(names);
  t.equal(new Set(codes).size, COUNT);
  t.ok(names.kept <= NAMES_KEPT_MAX, `${names.kept} names in memory`);
  t.same(codesOf(names), codes, "names that are no longer in memory keep their codes");
});

t.test("a start reads no names, and continues their codes", async (t) => {
  const statements = open();
  const codes = codesOf(new Names(statements));
  const names = new Names(statements);
  t.equal(names.kept, 0);
  t.equal(names.code("new"), Math.max(...codes) + 1);
  t.same(codesOf(names), codes);
});

t.test("a rollback withdraws new codes, also of names that are no longer in memory", async (t) => {
  const statements = open();
  const names = new Names(statements);
  const kept = names.code("kept");
  names.committed();
  statements.database.exec("BEGIN IMMEDIATE");
  const codes = codesOf(names);
  statements.database.exec("ROLLBACK");
  names.rolledBack();
  t.equal(names.code("kept"), kept);
  t.same(codesOf(names), codes, "the numbers are given again");
});
