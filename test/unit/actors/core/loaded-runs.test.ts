/** Runs after a start: their texts stay in the store until they are needed, and count in the room as before. */
import t, { type Test } from "tap";
import type { LiveState } from "#actors/core/state/live-state";
import type { Run } from "#actors/core/state/run";
import { memoryUnitsOf } from "#actors/core/state/run-room";
import { loadLiveState } from "#actors/dispatch-group/load";
import type { Primitive } from "#protocol/wire/feed";
import { loadStore } from "#storage/load/load";
import { putOperation } from "#storage/write/ops";
import { SETTINGS } from "../../../support/dispatch-kit.ts";
import { openStore, putFlow, request, runRow, stateRow } from "../../../support/storage-rows.ts";

const USUAL = { name: "usual", parameters: '{"day":1}', tags: '["a"]' };
const TAGGED = { name: "tagged", parameters: "{}", tags: JSON.stringify(["x".repeat(100_000)]) };
const LARGE = { name: "large", parameters: JSON.stringify({ text: "x".repeat(5_000) }), tags: "[]" };
const UNITS_OF_TAGS = Math.floor(TAGGED.tags.length / 1_600);

function started(): LiveState {
  const { writer, statements, database } = openStore();
  const ops: Primitive[] = [];
  putFlow(ops, 1, "p", "a");
  for (const [index, texts] of [USUAL, TAGGED, LARGE].entries())
    putOperation(ops, "insert_run", runRow(index + 1, stateRow("Scheduled"), texts));
  writer.commit(request(writer, 1, { ops }));
  return loadLiveState(loadStore(database), statements, SETTINGS, new Set());
}

function runOf(t: Test, state: LiveState, id: number): Run {
  const run = state.runs.get(id);
  if (run === undefined) throw new Error(`no run ${id}`);
  t.equal(run.texts, null, "not read at the start");
  return run;
}

t.test("a start leaves the texts of runs in the store, and counts them in the room", async (t) => {
  const state = started();
  for (const id of [1, 2, 3]) runOf(t, state, id);
  t.equal(state.room.taken, 3 + UNITS_OF_TAGS, "as many places as before the start");
});

t.test("texts are read when they are needed; then they stay in memory, except large parameters", async (t) => {
  const state = started();
  for (const [index, texts] of [USUAL, TAGGED, LARGE].entries()) {
    const run = runOf(t, state, index + 1);
    t.match(state.textsOf(run), texts);
    t.equal(run.texts === null, texts === LARGE);
    t.match(state.textsOf(run), texts);
    const units = memoryUnitsOf(run);
    t.equal(units, texts === TAGGED ? 1 + UNITS_OF_TAGS : 1);
  }
});
