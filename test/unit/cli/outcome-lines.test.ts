/** How `millrace runs show` prints the tasks, the result and the failure of a run. */
import t from "tap";
import { renderRun } from "#cli/runs/run-details";
import { renderTasks } from "#cli/runs/task-rows";
import { resultText, tracebackLines } from "#cli/terminal/outcome-lines";
import { Terminal } from "#cli/terminal/terminal";
import type { State, StateType } from "#protocol/records/state";
import type { Run, TaskRun } from "#sdk/client/index";

const TIME = 1_767_225_600_000_000;
const pipe = new Terminal({ write: () => undefined }, {});

function state(
  type: StateType,
  message: string | null = null,
  details: Record<string, unknown> = {},
  name: string = type,
): State {
  return { type, name, message, details, timestamp: TIME };
}

let lastId = 0;
function taskRun(name: string, own: State, failure_count = 0): TaskRun {
  lastId += 1;
  const times = { start_time: TIME, end_time: TIME, total_run_time: lastId * 1_000_000 };
  return { id: lastId, name, dynamic_key: `${name}-${lastId}`, state: own, failure_count, ...times } as unknown as TaskRun;
}

function many(count: number, make: (index: number) => TaskRun): TaskRun[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

t.beforeEach(() => {
  lastId = 0;
});

t.test("task runs that are alike share a row; few of them and failed ones have their own", async (t) => {
  const tasks = [
    ...many(2, () => taskRun("load", state("Completed"))),
    ...many(200, (index) =>
      taskRun("square", index === 77 ? state("Failed", "Error: no 77") : state("Completed"), index === 77 ? 1 : 0),
    ),
  ];
  t.same(renderTasks(tasks, pipe), [
    "TASK          STATE              DURATION  MESSAGE",
    "load-1        ● Completed          1.00 s",
    "load-2        ● Completed          2.00 s",
    "square × 199  ● Completed  up to 3 m 22 s",
    "square-80     ■ Failed           1 m 20 s  Error: no 77",
  ]);
});

t.test("of many failed task runs the first ones are shown, with the attempts of each", async (t) => {
  const lines = renderTasks(
    many(30, (index) => taskRun("fetch", state("Failed", `Error: ${index}`), index === 29 ? 3 : 1)),
    pipe,
  );
  t.equal(lines.length, 1 + 10 + 1);
  t.match(lines[0], /^TASK +STATE +ATTEMPTS +DURATION +MESSAGE$/);
  t.match(lines[1], /^fetch-1 +■ Failed +1 +1\.00 s +Error: 0$/);
  t.match(lines[11], /^fetch × 20 +■ Failed +up to 3 +up to 30\.0 s$/);
});

t.test("the result of a run, and one that was too large to be kept", async (t) => {
  t.equal(resultText(state("Completed", null, { result: { rows: 3 } })), '{"rows":3}');
  t.equal(resultText(state("Completed")), null);
  t.equal(
    resultText(state("Completed", null, { result_bytes: 100_002 })),
    "not kept: 100,002 bytes, more than the 64,000 that are stored",
  );
  t.equal(resultText(state("Completed", null, { result_lost: "it is not JSON: a\u001b[0mb" })), "not kept: it is not JSON: ab");
});

t.test("a traceback stands under the message without repeating it", async (t) => {
  const traceback = "Error: no 77\n    at flow.ts:3\n  [cause]: Error: root";
  t.same(tracebackLines(state("Failed", "Error: no 77", { traceback }), pipe), traceback.split("\n").slice(1));
  const fields = "CommandError: it ended with code 2:\nno such file {\n  code: 2\n}";
  const message = "CommandError: it ended with code 2:\nno such file";
  t.same(tracebackLines(state("Failed", message, { traceback: fields }), pipe), ["{", "  code: 2", "}"], "fields of an error");
  const short = "CommandError: it ended with code 2";
  t.same(tracebackLines(state("Failed", short, { traceback: `${short} {\n  code: 2\n}` }), pipe), ["{", "  code: 2", "}"]);
  t.same(tracebackLines(state("Failed", null, { traceback: "{\n  code: 2\n}" }), pipe), ["{", "  code: 2", "}"]);
  t.same(tracebackLines(state("Failed", "crash limit reached: Error: no 77", { traceback }), pipe), traceback.split("\n"));
  t.same(tracebackLines(state("Failed", "Error: no 77"), pipe), []);
  t.same(tracebackLines(state("Completed", null, { traceback }), pipe), []);
});

t.test("a run shows its attempts, its result, why it failed, and why its tasks did where that is another reason", async (t) => {
  const traceback = "Error: no 77\n    at flow.ts:3";
  const other = "RangeError: caught\n    at flow.ts:9";
  const run = {
    ...{ id: 5, name: "n", project: "p", flow_name: "f", created_at: TIME, created_by: "crash:4", parent_run_id: 4 },
    ...{ start_time: TIME, end_time: TIME, total_run_time: 1, attempt: 1, failure_count: 2, tags: [], parameters: {} },
    state: state("Failed", "Error: no 77", { traceback }),
  } as unknown as Run;
  const task_runs = [
    taskRun("same", state("Failed", "Error: no 77", { traceback }), 1),
    taskRun("caught", state("Failed", "RangeError: caught", { traceback: other }), 1),
  ];
  const lines = renderRun({ run, task_runs, artifacts: [], waits: null }, pipe);
  t.same(lines.slice(1, 3), ["■ Failed  Error: no 77", "    at flow.ts:3"]);
  t.ok(lines.some((line) => /^Attempts +2$/.test(line)));
  t.ok(lines.some((line) => /^Again of +run 4$/.test(line)));
  t.same(lines.slice(-3), ["", "caught-2  RangeError: caught", "    at flow.ts:9"]);
  const done = { ...run, state: state("Completed", null, { result: 3 }) };
  const shown = renderRun({ run: done, task_runs: [], artifacts: [], waits: null }, pipe);
  t.ok(shown.some((line) => /^Result +3$/.test(line)));
});
