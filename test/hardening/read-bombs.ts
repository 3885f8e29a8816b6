/**
 * A store as large as the limits allow wherever it is read: a run with many task runs with many parents, large artifacts,
 * parameters, payloads and log lines. And the requests that read it.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { MCP_TOOLS } from "#protocol/mcp/mcp-tools";
import { ROUTES } from "#protocol/routes/routes";
import type { Primitive } from "#protocol/wire/feed";
import { putOperation } from "#storage/write/ops";
import {
  eventRow,
  openStore,
  putFlow,
  putRun,
  type RunSpec,
  request,
  type Store,
  taskRow,
  uuid,
} from "../support/storage-rows.ts";

export interface BombSizes {
  /** Task runs of one run. */
  tasks: number;
  /** Parents of each of them. */
  parents: number;
  /** Artifacts of one run, of the largest size. */
  artifacts: number;
  /** Runs with parameters, and events with a payload, of the largest size. */
  records: number;
  /** Log lines of the largest size. */
  lines: number;
}

const MIB = 1024 * 1024;
/** Bytes of operations per commit. */
const BATCH_BYTES = 32 * MIB;
/** The run with the task runs, artifacts and lines. */
const RUN = 1;

const ENDED: RunSpec = {
  ...{ id: RUN, flow: 1, name: "bomb", tags: ["tag"], type: "Failed", stateName: "Failed", created: 1, start: 1, end: 6 },
  ...{ scheduled: null, schedule: null, backfill: null },
};

/** Writes the store into a new home. */
export function writeBombs(home: string, sizes: BombSizes): void {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const store = openStore(join(home, "db.sqlite"));
  const batches = new Batches(store);
  batches.add((ops) => putFlow(ops, 1, "p", "a"), 1_000);
  batches.add((ops) => putRun(ops, ENDED), 1_000);
  for (let id = 1; id <= sizes.tasks; id += 1) batches.add((ops) => putTask(ops, id, sizes.parents), 1_000 + 40 * sizes.parents);
  const text = "x".repeat(MIB - 200);
  const artifact = { run_id: RUN, task_run_id: 1, key: "key", kind: "table", created_at: 1, updated_at: 1 };
  for (let id = 1; id <= sizes.artifacts; id += 1) {
    const row = { ...artifact, id, external_id: uuid(5, id), data: JSON.stringify({ text }) };
    batches.add((ops) => putOperation(ops, "put_artifact", row), MIB);
  }
  for (let id = RUN + 1; id <= RUN + sizes.records; id += 1) {
    batches.add((ops) => putRun(ops, { ...ENDED, id, name: `large-${id}`, parameters: { text } }), MIB);
    batches.add((ops) => {
      const event = { flow_id: 1, resource: '{"id":"a","kind":"b"}', related: "[]", payload: JSON.stringify({ text }) };
      putOperation(ops, "insert_event", eventRow("large", id, event));
    }, MIB);
  }
  const line = "y".repeat(256 * 1024 - 200);
  for (let index = 0; index < sizes.lines; index += 1)
    batches.add((_ops, logs) => logs.push(RUN, 0, 1, 1 << 4, JSON.stringify([[1, 40, "logger", index, line]])), line.length);
  batches.flush();
  store.database.close();
}

function putTask(ops: Primitive[], id: number, parents: number): void {
  const named = Array.from({ length: Math.min(parents, id - 1) }, (_, index) => uuid(3, id - 1 - index));
  const row = taskRow(id, RUN, "Failed", {
    name: `task-${id % 7}`,
    task_key: "key",
    dynamic_key: `task-${id}`,
    parents: JSON.stringify(named),
    state_message: "it failed",
    state_details: '{"attempts":[]}',
    failure_count: 1,
  });
  putOperation(ops, "put_task_run", row);
}

/** Commits like the writer, in batches of bounded size. */
class Batches {
  readonly #store: Store;
  #ops: Primitive[] = [];
  #logs: Primitive[] = [];
  #bytes = 0;
  #count = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  add(write: (ops: Primitive[], logs: Primitive[]) => void, bytes: number): void {
    write(this.#ops, this.#logs);
    this.#bytes += bytes;
    if (this.#bytes >= BATCH_BYTES) this.flush();
  }

  flush(): void {
    this.#count += 1;
    this.#store.writer.commit(request(this.#store.writer, this.#count, { ops: this.#ops, logs: this.#logs }));
    [this.#ops, this.#logs, this.#bytes] = [[], [], 0];
  }
}

export interface ReadRequest {
  name: string;
  method: "GET" | "POST";
  path: string;
  body: string | null;
  /** The answer ends early because of its size. */
  bounded: boolean;
}

const LISTS_WITH_CURSOR = /^\/api\/(runs|task-runs|events|artifacts)$|\/logs$/;
/** Never shortened, because these orders have no cursor to continue with. */
const WHOLE = ["/api/runs?limit=500&sort=name_asc", `/api/runs/${RUN}/logs?limit=10000&tail=true`];

/** Every route and tool that reads, each with the largest page. */
export function* readRequests(): Generator<ReadRequest> {
  for (const { method, path, operation, query, media_type } of ROUTES) {
    if (method !== "GET" || media_type === "text/event-stream" || operation === "getOpenapi") continue;
    const limit = (query as { properties?: { limit?: { maximum?: number } } } | undefined)?.properties?.limit;
    const asked = path.replace("{id}", String(RUN)).replace("{name}", "none");
    const isList = LISTS_WITH_CURSOR.test(path);
    yield read(limit === undefined || !isList ? asked : `${asked}?limit=${limit.maximum}`, isList);
  }
  yield read("/api/runs?limit=100", true);
  yield read("/api/events?limit=1000&ascending=true", true);
  for (const path of WHOLE) yield read(path, false);
  for (const [name, { annotations }] of Object.entries(MCP_TOOLS)) {
    if (!annotations.readOnlyHint) continue;
    const params = {
      name,
      arguments: { ...(name.endsWith("_run") || /^(run_logs|explain_failure)$/.test(name) ? { run_id: RUN } : {}) },
    };
    yield tool(name, "tools/call", params);
  }
  for (const part of ["logs", "artifacts"]) yield tool(part, "resources/read", { uri: `millrace://runs/${RUN}/${part}` });
}

function read(path: string, bounded: boolean): ReadRequest {
  return { name: `GET ${path}`, method: "GET", path, body: null, bounded };
}

function tool(name: string, method: string, params: object): ReadRequest {
  return {
    name: `${method} ${name}`,
    method: "POST",
    path: "/mcp",
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    bounded: true,
  };
}

/** Reads an answer to its end without keeping it. */
export async function readAll(
  url: string,
  { method, path, body }: ReadRequest,
): Promise<{ status: number; bytes: number; isWhole: boolean }> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const answer = await fetch(`${url}${path}`, { method, headers, ...(body === null ? {} : { body }) });
  let bytes = 0;
  let last = "";
  for await (const piece of answer.body ?? []) {
    bytes += piece.length;
    last = (last + Buffer.from(piece.slice(-20)).toString("latin1")).slice(-20);
  }
  const isJson = answer.headers.get("content-type")?.includes("json") === true;
  return { status: answer.status, bytes, isWhole: isJson ? /[}\]]\s*$/.test(last) : last.endsWith("\n") };
}
