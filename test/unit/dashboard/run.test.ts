/** The page of a run: rows of the timeline, the brush, and the graph with its bounds. */
import t from "tap";
import type { TaskRun } from "#protocol/records/task-run";
import { layOut } from "../../../dashboard/pages/run/graph/layout.ts";
import { CALLED_MAX, graphOf, NODES_MAX } from "../../../dashboard/pages/run/graph/model.ts";
import { groupTasks } from "../../../dashboard/pages/run/task-groups.ts";
import { density } from "../../../dashboard/pages/run/timeline/axis.ts";
import { timelineRows } from "../../../dashboard/pages/run/timeline/rows.ts";

function task(id: number, name: string, state: string, from: number | null, to: number | null): TaskRun {
  const type = state === "TimedOut" ? "Failed" : state === "Cached" ? "Completed" : state;
  return {
    ...{ id, external_id: String(id), run_id: 1, name, task_key: name, dynamic_key: `${name}-${id}`, created_at: 0 },
    ...{
      crash_count: 0,
      failure_count: 0,
      start_time: from,
      end_time: to,
      total_run_time: to === null ? null : to - (from ?? 0),
    },
    state: { type, name: state, timestamp: 0, message: null, details: {} },
  } as unknown as TaskRun;
}

t.test("the timeline has what went wrong first and folds what is alike", async (t) => {
  const tasks = [
    ...Array.from({ length: 6 }, (_, index) => task(index, "fetch", "Completed", index * 10, index * 10 + 15)),
    task(10, "fetch", "TimedOut", 5, 40),
    task(11, "merge", "Running", 60, null),
    task(12, "publish", "Scheduled", null, null),
  ];
  const rows = timelineRows(tasks, { failedOnly: false, starts: [0] });
  t.same(
    rows.map(({ name }) => name),
    ["fetch-10", "fetch, 6 alike", "merge-11", "publish-12"],
  );
  t.same(rows[1]?.bars, [{ fromUs: 0, toUs: 65, token: "completed", earlier: false }], "what overlaps is one bar");
  t.same(rows[2]?.bars[0]?.toUs, null, "it goes on");
  t.same(rows[3]?.bars, []);
  t.same(
    timelineRows(tasks, { failedOnly: true, starts: [0] }).map(({ name }) => name),
    ["fetch-10"],
  );
  t.match(groupTasks(tasks)[0], {
    name: "fetch",
    total: 7,
    failed: 1,
    states: [["TimedOut", 1] as const, ["Completed", 6] as const],
  });
});

t.test("all attempts of a task stand in one row", async (t) => {
  const first = { ...task(1, "fetch", "Failed", 10, 40), failure_count: 2 };
  first.state.details = {
    attempts: [
      [10, 20],
      [30, null],
    ],
  };
  const again = task(3, "fetch", "Completed", 110, 130);
  const rows = timelineRows([first, task(2, "merge", "Cancelled", null, null), again], { failedOnly: false, starts: [0, 100] });
  t.match(
    rows.map(({ name, tasks }) => [name, tasks]),
    [
      ["fetch-3", 2],
      ["merge-2", 1],
    ],
  );
  t.same(rows[0]?.bars, [
    { fromUs: 10, toUs: 20, token: "failed", earlier: true },
    { fromUs: 30, toUs: 40, token: "failed", earlier: true },
    { fromUs: 110, toUs: 130, token: "completed", earlier: false },
  ]);
  t.equal(rows[0]?.busyUs, 40);
});

t.test("an attempt is the run's: the n-th call of a name is one task in each of them", async (t) => {
  const tasks = [task(1, "a", "Completed", 1, 2), task(2, "a", "Failed", 3, 4), task(3, "a", "Completed", 11, 12)];
  const rows = timelineRows([...tasks, task(4, "a", "Failed", 13, 14)], { failedOnly: true, starts: [0, 10] });
  t.same(
    rows.map(({ name, bars }) => [name, bars.map(({ fromUs, earlier }) => [fromUs, earlier])]),
    [
      [
        "a-4",
        [
          [3, true],
          [13, false],
        ],
      ],
    ],
  );
});

t.test("details that are no times of attempts are not drawn", async (t) => {
  const odd = task(1, "fetch", "Failed", 10, 40);
  odd.state.details = { attempts: ["then", [1], 7] };
  t.same(timelineRows([odd], { failedOnly: false, starts: [] })[0]?.bars, [
    { fromUs: 10, toUs: 40, token: "failed", earlier: false },
  ]);
});

t.test("the brush shows how much ran when", async (t) => {
  const bars = [
    [0, 49],
    [20, 29],
  ] as const;
  t.same(density(bars, { fromUs: 0, toUs: 100 }, 10), [0.5, 0.5, 1, 0.5, 0.5, 0, 0, 0, 0, 0]);
});

t.test("a graph has a box per task, per name, or none", async (t) => {
  const few = [task(1, "a", "Completed", 0, 1), { ...task(2, "b", "Running", 1, null), parents: ["1", "elsewhere"] }];
  t.match(graphOf(few), { by: "tasks", edges: [["1", "2"]], called: [] });
  const calls = Array.from({ length: CALLED_MAX + 1 }, (_, id) => id);
  t.same(graphOf(few, calls).called, calls.slice(0, CALLED_MAX), "the first of many called runs");
  const many = Array.from({ length: NODES_MAX }, (_, id) => task(id, "a", "Completed", 0, 1));
  const last = { ...task(9_000, "b", "Failed", 1, 2), parents: many.map(({ external_id }) => external_id) };
  const grouped = graphOf([...many, last]);
  t.match(grouped, { by: "names", edges: [["a", "b"]] });
  t.same(
    grouped.boxes.map(({ name, tasks }) => [name, tasks]),
    [
      ["b", 1],
      ["a", NODES_MAX],
    ],
  );
  t.match(graphOf(Array.from({ length: NODES_MAX + 1 }, (_, id) => task(id, `t${id}`, "Completed", 0, 1))), {
    by: "none",
    boxes: [],
  });
});

t.test("boxes lie beside each other and never on each other", async (t) => {
  const boxes = ["a", "b", "c", "alone", "too"];
  const { places, lines, width, height } = layOut({
    boxes,
    edges: [
      ["a", "b"],
      ["a", "c"],
    ],
  });
  t.same(Object.keys(places).sort(), [...boxes].sort());
  t.ok((places["a"]?.x ?? 0) < (places["b"]?.x ?? 0), "from left to right");
  t.equal(new Set(Object.values(places).map(({ x, y }) => `${x} ${y}`)).size, boxes.length);
  t.equal(lines.length, 2);
  for (const { x, y } of Object.values(places)) t.ok(x >= 0 && y >= 0 && x < width && y < height);
});
