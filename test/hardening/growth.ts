/**
 * Fills everything that may grow to its bound in one home, then starts that home with the same memory. Each filling reports
 * the server's answer beyond the bound and the memory of its process.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { LEASED_RESOURCES_MAX, MCP_SESSIONS_MAX, NAMES_COUNT_MAX, RULES_COUNT_MAX } from "#protocol/limits";
import { TEMPLATE_LENGTH_MAX } from "#storage/templates/parse";
import { type HardenedServer, startHardenedServer } from "./hardened-server.ts";

/** How much is filled: everything, or what takes only seconds. */
export interface GrowthSize {
  heapMb: number;
  /** Null: the default bound, from the heap. */
  unfinishedRuns: number | null;
  externalEngines: number;
  rules: number;
  /** Rules with templates of the largest size. */
  templates: number;
  sessions: number;
  strangeReports: number;
  /** Number of starts, of which the fastest counts: other load on the machine may delay any of them. */
  starts: number;
}

export const WHOLE: GrowthSize = {
  heapMb: 256,
  unfinishedRuns: null,
  externalEngines: 10_000,
  rules: RULES_COUNT_MAX,
  templates: 400,
  sessions: MCP_SESSIONS_MAX,
  strangeReports: 10_000,
  starts: 3,
};

export interface Filled {
  what: string;
  /** The amount at which the bound was reached. */
  reached: string;
  /** The outcome of one more. */
  beyond: string;
  /** Whether the outcome is as documented. */
  holds: boolean;
  seconds: number;
  /** Memory of the process afterwards. */
  memoryMb: number;
}

export interface Start {
  seconds: number;
  /** CPU time of all threads until the first answer. */
  cpuSeconds: number;
  memoryMb: number;
}

export interface Growth {
  rows: Filled[];
  /** Starts of the empty home and of the filled home. */
  empty: Start;
  full: Start;
  /** Answers of the full server to requests for a run and for a page. */
  answers: number[];
}

interface Answer {
  status: number;
  text: string;
  body: Record<string, unknown>;
}

type Outcome = Pick<Filled, "reached" | "beyond" | "holds">;

const CLIENTS = 32;
const RUN = { flow: "flow", project: "project", module: "flow.ts", source_dir: "/nowhere" };
const DAYS = { type: "object", properties: { day: { type: "string", format: "date-time" } } };
const BACKFILL_RUNS = 10_000;
const CLOCK_TICKS = 100;

export async function measureGrowth(size: GrowthSize, home: string, told: (row: Filled) => void): Promise<Growth> {
  const runs = size.unfinishedRuns === null ? "" : `max_unfinished_runs = ${size.unfinishedRuns}\n`;
  const options = { heapMb: size.heapMb, config: `[server]\nmax_external_engines = ${size.externalEngines}\n${runs}` };
  const rows: Filled[] = [];
  let { server, start: empty } = await startMeasured(home, options, size.starts);
  try {
    for (const [what, fill] of Object.entries(FILLINGS)) {
      const begin = performance.now();
      const outcome = await fill(new Client(server), size);
      if (server.ended() !== null) throw new Error(`the server ended (${server.ended()})\n${server.output().slice(-2_000)}`);
      const row = { what, ...outcome, seconds: (performance.now() - begin) / 1_000, memoryMb: memoryMb(server.pid) };
      rows.push(row);
      told(row);
    }
    await server.stop();
    const again = await startMeasured(home, options, size.starts);
    server = again.server;
    const client = new Client(server);
    const answers = [await client.send("POST", "/api/runs", RUN), await client.send("GET", "/api/runs?limit=100")];
    return { rows, empty, full: again.start, answers: answers.map(({ status }) => status) };
  } finally {
    await server.stop();
  }
}

/** Starts several times; the last server stays, the fastest start is returned. */
async function startMeasured(home: string, options: { heapMb: number; config: string }, times: number) {
  let { server, start } = await startOnce(home, options);
  for (let count = 1; count < times; count += 1) {
    await server.stop();
    const again = await startOnce(home, options);
    server = again.server;
    if (again.start.seconds < start.seconds) start = again.start;
  }
  return { server, start };
}

async function startOnce(
  home: string,
  options: { heapMb: number; config: string },
): Promise<{ server: HardenedServer; start: Start }> {
  const begin = performance.now();
  const server = await startHardenedServer([], home, options);
  const seconds = (performance.now() - begin) / 1_000;
  return { server, start: { seconds, cpuSeconds: cpuSeconds(server.pid), memoryMb: memoryMb(server.pid) } };
}

class Client {
  readonly #url: string;

  constructor({ url }: HardenedServer) {
    this.#url = url;
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    const sent = { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers };
    const answer = await fetch(`${this.#url}${path}`, { method, headers: sent, ...content });
    const text = await answer.text();
    const session = answer.headers.get("mcp-session-id");
    const parsed = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
    return { status: answer.status, text, body: session === null ? parsed : { session } };
  }

  /** Sends up to `count` requests until one is refused; returns the number of accepted requests, and the refusal. */
  async repeat(count: number, send: (index: number) => Promise<Answer>): Promise<{ taken: number; refused: Answer | null }> {
    let index = 0;
    let taken = 0;
    let refused: Answer | null = null;
    const one = async (): Promise<void> => {
      while (refused === null && index < count) {
        const answer = await send(index++);
        if (answer.status < 300) taken += 1;
        else refused ??= answer;
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, one));
    return { taken, refused };
  }
}

const FILLINGS: Readonly<Record<string, (client: Client, size: GrowthSize) => Promise<Outcome>>> = {
  "engine ids of one living process": fillEngines,
  "lease numbers in reports": fillLeaseNumbers,
  "leases of user code": fillLeases,
  "MCP sessions": fillSessions,
  "template trees": fillTemplates,
  rules: fillRules,
  "tags of runs": fillTags,
  "unfinished runs": fillRuns,
};

async function fillEngines(client: Client, { externalEngines }: GrowthSize): Promise<Outcome> {
  const poll = (engine_id: string, wait_ms: number): Promise<Answer> =>
    client.send("POST", "/api/engine/work", { engine_id, pid: process.pid, wait_ms, ...MODULE });
  const ids = externalEngines + 50;
  await client.repeat(ids, (index) => poll(`made-up-${index}`, 0));
  const run = await client.send("POST", "/api/runs", RUN);
  const work = (await poll("real", 1_000)).body;
  const given = (work["run"] as { run_id?: unknown } | null)?.run_id;
  await client.send("POST", `/api/runs/${run.body["id"]}/cancel`);
  const holds = given === run.body["id"];
  return { reached: `${ids} ids`, beyond: holds ? "a further engine gets its run" : JSON.stringify(work), holds };
}

const MODULE = { source_dir: RUN.source_dir, module: RUN.module };

async function fillLeaseNumbers(client: Client, { strangeReports }: GrowthSize): Promise<Outcome> {
  const { body } = await client.send("POST", "/api/runs", RUN);
  const report = async (lease: number): Promise<number> => {
    const logs = [{ run_id: body["id"], level: 20, logger: "l", timestamp: 1, message: "m" }];
    const events = [{ kind: "logs", seq: lease, logs }];
    const begin = performance.now();
    await client.send("POST", "/api/engine/report", { engine_id: "e", run_id: body["id"], lease, events });
    return performance.now() - begin;
  };
  const first = await shortest((index) => report(1_000_000 + index));
  await client.repeat(strangeReports, async (index) => {
    await report(2_000_000 + index);
    return { status: 200, text: "", body: {} };
  });
  const last = await shortest((index) => report(3_000_000 + index));
  await client.send("DELETE", `/api/runs/${body["id"]}`);
  const beyond = `one more takes ${last.toFixed(1)} ms, as at first (${first.toFixed(1)} ms)`;
  return { reached: `${strangeReports} numbers`, beyond, holds: last < 10 * first + 5 };
}

async function shortest(measure: (index: number) => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < 10; index += 1) times.push(await measure(index));
  return Math.min(...times);
}

async function fillLeases(client: Client): Promise<Outcome> {
  const { body } = await client.send("POST", "/api/runs", RUN);
  const acquire = (index: number): Promise<Answer> => {
    const names = Array.from({ length: NAMES_COUNT_MAX }, (_, name) => [`resource-${index}-${name}`, 1]);
    const resources = Object.fromEntries(names) as Record<string, number>;
    return client.send("POST", "/api/resources/acquire", { run_id: body["id"], resources, wait_ms: 0 });
  };
  const { taken, refused } = await client.repeat((2 * LEASED_RESOURCES_MAX) / NAMES_COUNT_MAX, acquire);
  const resources = taken * NAMES_COUNT_MAX;
  return { reached: `${resources} resources`, ...refusal(refused), holds: refused?.status === 503 };
}

function refusal(refused: Answer | null): { beyond: string } {
  return { beyond: refused === null ? "all were taken" : `${refused.status}: ${String(refused.body["error"])}` };
}

async function fillSessions(client: Client, { sessions }: GrowthSize): Promise<Outcome> {
  const open = async (index: number): Promise<Answer> => {
    const clientInfo = { name: `client-${index}`, version: "1" };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    return await client.send("POST", "/mcp", { jsonrpc: "2.0", id: index, method: "initialize", params });
  };
  const first = String((await open(0)).body["session"]);
  const { taken } = await client.repeat(sessions, (index) => open(index + 1));
  const last = String((await open(sessions + 1)).body["session"]);
  const close = (session: string): Promise<Answer> => client.send("DELETE", "/mcp", undefined, { "mcp-session-id": session });
  const [oldest, newest] = [(await close(first)).status, (await close(last)).status];
  const holds = newest === 204 && (oldest === 404) === sessions >= MCP_SESSIONS_MAX;
  return { reached: `${taken + 2} sessions`, beyond: `the oldest is ${oldest === 404 ? "forgotten" : "there"}`, holds };
}

/** Rules whose webhooks have templates of the largest size fire once each. */
async function fillTemplates(client: Client, { templates }: GrowthSize): Promise<Outcome> {
  let received = 0;
  const { promise: delivered, resolve: allDelivered } = Promise.withResolvers<void>();
  const receiver = createServer((_request, response) => {
    received += 1;
    if (received >= templates) allDelivered();
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const output = "{{ event.name }}";
  const body = output.repeat(TEMPLATE_LENGTH_MAX / output.length - 1);
  const ids: unknown[] = [];
  try {
    await client.repeat(templates, async (index) => {
      const action = { kind: "webhook", url, body: `${index} ${body}` };
      const rule = { name: `template ${index}`, when: { events: ["growth.fill"] }, once: "never", do: [action] };
      const answer = await client.send("POST", "/api/rules", rule);
      ids.push(answer.body["id"]);
      return answer;
    });
    await client.send("POST", "/api/events", { name: "growth.fill" });
    await delivered;
  } finally {
    receiver.close();
  }
  await client.repeat(ids.length, (index) => client.send("DELETE", `/api/rules/${ids[index]}`));
  const kilobytes = Math.round((templates * TEMPLATE_LENGTH_MAX) / 1024);
  return { reached: `${templates} templates, ${kilobytes} KiB`, beyond: "each was rendered; the oldest trees go", holds: true };
}

async function fillRules(client: Client, { rules }: GrowthSize): Promise<Outcome> {
  const add = (index: number): Promise<Answer> =>
    client.send("POST", "/api/rules", { name: `rule ${index}`, when: { events: ["never"] }, do: [{ kind: "cancel_run" }] });
  const { taken, refused } = await client.repeat(rules + 1, add);
  return { reached: `${taken} rules`, ...refusal(refused), holds: (refused?.status === 503) === rules >= RULES_COUNT_MAX };
}

/** A thousand tags of a thousand characters as JSON text. */
const TAGS_BYTES = 1_003_001;

/** Half of the room is used by runs with a megabyte of tags each, which stay. */
async function fillTags(client: Client, { unfinishedRuns }: GrowthSize): Promise<Outcome> {
  const count = unfinishedRuns === null ? 50 : 2;
  const create = (index: number): Promise<Answer> => {
    const tags = Array.from({ length: 1_000 }, (_, tag) => `${index}-${tag}-`.padEnd(1_000, "x"));
    return client.send("POST", "/api/runs", { ...RUN, tags });
  };
  const { taken, refused } = await client.repeat(count, create);
  const beyond = `each counts as ${Math.floor(TAGS_BYTES / 1_600) + 1} runs`;
  return { reached: `${taken} runs with 1 MB of tags`, beyond, holds: refused === null };
}

async function fillRuns(client: Client): Promise<Outcome> {
  const seed = await client.send("POST", "/api/runs", { ...RUN, flow: "backfilled", parameter_schema: DAYS });
  const start = "2020-01-01T00:00:00";
  const end = new Date(Date.UTC(2020, 0, 1) + (BACKFILL_RUNS - 1) * 60_000).toISOString().slice(0, 19);
  const backfill = { parameter: "day", start, end, interval: 60 };
  let filled: Answer;
  let taken = 1;
  do {
    filled = await client.send("POST", `/api/flows/${seed.body["flow_id"]}/backfill`, backfill);
    if (filled.status === 201) taken += BACKFILL_RUNS;
  } while (filled.status === 201);
  const single = await client.repeat(BACKFILL_RUNS, () => client.send("POST", "/api/runs", RUN));
  const holds = filled.status === 503 && single.refused?.status === 503;
  return { reached: `${taken + single.taken} runs`, ...refusal(single.refused), holds };
}

function memoryMb(pid: number): number {
  const match = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Math.round(Number(match?.[1] ?? 0) / 1024);
}

function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS;
}
