/** Lists larger than one part of an answer: their content, the ends of their pages, and clients that do not read. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { ANSWER_PAGE_BYTES_MAX, ANSWER_PART_BYTES_MAX } from "#protocol/limits";
import type { Primitive } from "#protocol/wire/feed";
import { putOperation } from "#storage/write/ops";
import { StubServer } from "../support/gateway-stub.ts";
import { eventRow, putFlow, putRun, putTaskRun, type RunSpec, taskRow, uuid } from "../support/storage-rows.ts";

const RUN: RunSpec = {
  ...{ id: 1, flow: 1, name: "one", tags: [], type: "Completed", stateName: "Completed", created: 1, start: 1, end: 6 },
  ...{ scheduled: null, schedule: null, backfill: null },
};
const KIB = 1024;
const MIB = 1024 * KIB;

async function setup(t: Test, write: (ops: Primitive[], logs: Primitive[]) => void): Promise<StubServer> {
  const server = await new StubServer().start();
  t.teardown(() => server.stop());
  const ops: Primitive[] = [];
  const logs: Primitive[] = [];
  putFlow(ops, 1, "p", "a");
  write(ops, logs);
  server.commit({ ops, logs });
  return server;
}

async function get<T>(server: StubServer, path: string): Promise<T> {
  const answer = await fetch(`http://127.0.0.1:${server.port}${path}`);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

interface Listed {
  id: number;
}

interface Page {
  items: Listed[];
  next_cursor: number | null;
}

const idsOf = (items: readonly Listed[]): number[] => items.map(({ id }) => id);
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

function putArtifact(ops: Primitive[], id: number, run: number, data: string): void {
  const row = { id, external_id: uuid(5, id), run_id: run, task_run_id: null, key: "k", kind: "table", data };
  putOperation(ops, "put_artifact", { ...row, created_at: id, updated_at: id });
}

t.test("what belongs to a run is whole without a limit, and comes in pages with one", async (t) => {
  const server = await setup(t, (ops) => {
    putRun(ops, RUN);
    for (const id of numbers(900)) {
      const parents = JSON.stringify(numbers(Math.min(id - 1, 50)).map((parent) => uuid(3, parent)));
      const row = taskRow(id, 1, "Completed", { name: "task", parents, state_message: "m".repeat(1_000) });
      putOperation(ops, "put_task_run", row);
    }
    for (const id of numbers(9)) putArtifact(ops, id, 1, JSON.stringify({ text: "é".repeat(50 * KIB) }));
  });
  const tasks = await get<Listed[]>(server, "/api/runs/1/tasks");
  t.same(idsOf(tasks), numbers(900));
  t.ok(JSON.stringify(tasks).length > 4 * ANSWER_PART_BYTES_MAX, "more than one part");
  const artifacts = await get<(Listed & { data: { text: string } })[]>(server, "/api/runs/1/artifacts");
  t.same(idsOf(artifacts), numbers(9));
  t.ok(artifacts.every(({ data }) => data.text === "é".repeat(50 * KIB)));
  t.same(idsOf(await get(server, "/api/runs/1/tasks?limit=3&after=7")), [8, 9, 10]);
  t.same(idsOf(await get(server, "/api/runs/1/tasks?limit=700")), numbers(700), "of several parts");
  t.same(await get(server, "/api/runs/1/tasks?after=900"), []);
  t.same(idsOf(await get(server, "/api/runs/1/artifacts?limit=2&after=1")), [2, 3]);
  const graph = await get<{ run_id: number; nodes: Listed[]; edges: { from: number; to: number }[] }>(
    server,
    "/api/runs/1/graph",
  );
  t.same(idsOf(graph.nodes), numbers(900));
  const edges = numbers(900).flatMap((to) => numbers(Math.min(to - 1, 50)).map((from) => ({ from, to })));
  t.same(graph.edges, edges);
  for (const path of ["tasks", "artifacts", "graph"]) {
    const head = await fetch(`http://127.0.0.1:${server.port}/api/runs/1/${path}`, { method: "HEAD" });
    t.equal(head.status, 200);
    t.equal(await head.text(), "");
  }
});

t.test("a page in order of ids ends early at a size, with its cursor; one in another order is whole", async (t) => {
  const count = Math.ceil((2.5 * ANSWER_PAGE_BYTES_MAX) / MIB);
  const server = await setup(t, (ops) => {
    for (const id of numbers(count)) {
      putRun(ops, { ...RUN, id, name: `run-${String(id).padStart(3, "0")}`, parameters: { text: "p".repeat(MIB - 100) } });
      const event = { flow_id: 1, resource: '{"id":"a","kind":"b"}', related: "[]", payload: `"${"e".repeat(MIB - 9)}"` };
      putOperation(ops, "insert_event", eventRow("custom", id, event));
      putArtifact(ops, id, id, JSON.stringify({ text: "a".repeat(MIB - 100) }));
    }
  });
  const descending = numbers(count).reverse();
  for (const [path, cursor, ids] of [
    ["/api/runs?limit=500", "cursor", descending],
    ["/api/runs?limit=500&sort=created_asc", "cursor", numbers(count)],
    ["/api/events?limit=1000", "cursor", descending],
    ["/api/events?limit=1000&ascending=true", "cursor", numbers(count)],
    ["/api/artifacts?limit=500", "after", descending],
  ] as const) {
    const seen: number[] = [];
    let pages = 0;
    for (let at: number | null = -1; at !== null; ) {
      const page: Page = await get(server, at === -1 ? path : `${path}&${cursor}=${at}`);
      t.ok(JSON.stringify(page).length < ANSWER_PAGE_BYTES_MAX + 2 * MIB, path);
      seen.push(...idsOf(page.items));
      pages += 1;
      at = page.next_cursor;
    }
    t.equal(pages, 3, path);
    t.same(seen, ids, path);
  }
  const byName = await get<Page>(server, "/api/runs?limit=500&sort=name_asc");
  t.same(idsOf(byName.items), numbers(count));
  t.equal(byName.next_cursor, null);
  const some = await get<Page>(server, `/api/runs?limit=${count - 1}&sort=name_asc`);
  t.same([some.items.length, some.next_cursor], [count - 1, count - 1]);
});

t.test("the last lines of a log that are more than one part are whole, in order", async (t) => {
  const server = await setup(t, (ops, logs) => {
    putRun(ops, RUN);
    for (const id of numbers(60))
      logs.push(1, 0, 1, 4, JSON.stringify([[null, 20, "l", id, `line ${id} ${"x".repeat(20 * KIB)}`]]));
  });
  const page = await get<Page>(server, "/api/runs/1/logs?limit=50&tail=true");
  t.same(idsOf(page.items), numbers(60).slice(10));
  t.equal(page.next_cursor, null);
  t.same(idsOf((await get<Page>(server, "/api/runs/1/logs?limit=50")).items), numbers(50));
});

t.test("a run that is deleted while a list of it is sent ends the list", async (t) => {
  const server = await setup(t, (ops) => {
    putRun(ops, RUN);
    putTaskRun(ops, 1, 1, "Completed", "Completed");
    for (const id of numbers(200)) putArtifact(ops, id, 1, JSON.stringify("a".repeat(MIB / 8)));
  });
  const socket = connect(server.port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.write("GET /api/runs/1/artifacts HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const [first] = (await once(socket, "data")) as [Buffer];
  socket.pause();
  const ops: Primitive[] = [];
  putOperation(ops, "delete_run", { id: 1 });
  server.commit({ ops });
  let text = first.toString("latin1");
  socket.on("data", (piece: Buffer) => {
    text += piece.toString("latin1");
  });
  socket.resume();
  await once(socket, "close");
  const [, body = ""] = text.split("\r\n\r\n", 2);
  const artifacts = JSON.parse(`\r\n${body}`.replaceAll(/\r\n[0-9a-f]+(\r\n|$)/g, "")) as Listed[];
  t.ok(artifacts.length > 0 && artifacts.length < 200, `${artifacts.length} artifacts came, and the end of the list`);
  t.same(server.defects, []);
});

t.test("a store that readers cannot open is an error with an id, logged once, and not a busy server", async (t) => {
  const server = await setup(t, () => undefined);
  for (const end of ["", "-wal", "-shm"]) rmSync(join(server.home, `db.sqlite${end}`), { force: true });
  const answer = await fetch(`http://127.0.0.1:${server.port}/api/rules`);
  t.equal(answer.status, 500);
  const { error } = (await answer.json()) as { error: string };
  const [, id = "no id"] = /internal error (\S+);/.exec(error) ?? [];
  t.equal(server.defects.length, 1);
  t.match(String(server.defects[0]), new RegExp(`${id} of GET /api/rules: .*unable to open`, "s"));
});
