import t from "tap";
import type { Primitive } from "#protocol/feed";
import { hasOldHistory } from "#storage/load";
import { putOperation } from "#storage/ops";
import { openStore, request } from "../storage-rows.ts";

const OLD_US = 1_000_000;
const NEW_US = 9_000_000;
const BEFORE_US = 5_000_000;

function events(count: number, occurred: number): Primitive[] {
  const ops: Primitive[] = [];
  for (let index = 0; index < count; index += 1) {
    const resource = '{"id":"","kind":"custom","name":"a.b"}';
    putOperation(ops, "insert_event", "a.b", occurred, null, null, null, null, null, null, resource, "[]", "{}");
  }
  return ops;
}

function trim(lastEvent: number, stretches: number): Primitive[] {
  const ops: Primitive[] = [];
  putOperation(ops, "trim_history", BEFORE_US, lastEvent, stretches);
  return ops;
}

t.test("old events and their log lines go slice by slice, never beyond the cursor of the rules", async (t) => {
  const { writer, statements } = openStore();
  const lines = JSON.stringify([[null, 20, "log", OLD_US, "old"]]);
  writer.apply([request(writer, 1, { ops: events(1_100, OLD_US), logs: [1, 0, 1, 1, lines] })]);
  writer.apply([request(writer, 2, { ops: events(900, NEW_US), logs: [1, 0, 1, 1, lines] })]);
  const count = (): number => statements.raw<[number]>("SELECT count(*) FROM events").get()?.[0] ?? 0;
  const first = (): number => statements.raw<[number]>("SELECT min(id) FROM events").get()?.[0] ?? 0;

  t.equal(hasOldHistory(statements, BEFORE_US, 200), false, "the rules have not looked at them");
  writer.apply([request(writer, 3, { ops: trim(600, 1) })]);
  t.equal(first(), 256, "one stretch of ids");
  writer.apply([request(writer, 4, { ops: trim(600, 10) })]);
  t.equal(first(), 512, "whole stretches below the cursor only");
  writer.apply([request(writer, 5, { ops: trim(2_000, 10) })]);
  t.equal(first(), 1024, "a stretch with a newer event stays whole");
  t.equal(count(), 2_000 - 1_023);
  t.equal(hasOldHistory(statements, BEFORE_US, 2_000), false);
  t.equal(statements.raw<[number]>("SELECT count(*) FROM log_blocks").get()?.[0], 1, "its log lines have gone with them");
});
