/**
 * What a reader has from a filtered stream equals the same part of what a reader of the whole stream has: over random changes,
 * gaps, restarts of the gateway's state, slow readers and readers that reconnect with the last number they saw.
 */
import t from "tap";
import { type MessageRows, StreamRing } from "#gateway/stream/stream-ring";
import { streamStart } from "#gateway/stream/stream-since";
import { StreamHub } from "#gateway/stream/subscribers";
import { STREAM_RING_COUNT } from "#protocol/limits";
import { STREAM_CODE, type StreamKind } from "#protocol/wire/feed";
import type { MessageSubject } from "#storage/queries/message-subject";
import { Random } from "../sim/random.ts";
import { ManualTime } from "../support/manual-time.ts";
import { messageRows } from "../support/message-rows.ts";
import { RecordedExchange } from "../support/recorded-exchange.ts";
import { framesOf } from "../support/stream-frames.ts";

const SEEDS = 500;
const STEPS = 60;
const WINDOW_US = 60_000;
const FLOWS = [
  { id: 1, project: "p" },
  { id: 2, project: "p" },
  { id: 3, project: "q" },
];
const TAGS = ["a", "b", "c"];
const EVENT_NAMES = ["run.completed", "run.failed", "order.paid"];
const QUERIES = [
  "",
  "run_id=2",
  "run_id=2&snapshot=1",
  "run_id=3&kinds=run.updated",
  "flow_id=1",
  "flow_id=2&kinds=run.updated,task_run.updated",
  "project=p",
  "project=q&names=run.*",
  "tags=a",
  "tags=a,b&project=p",
  "kinds=event.created&names=run.failed,order.*",
  "kinds=variable.updated",
  "flow_id=3&tags=c&names=run.completed",
  "parameters.odd=1",
  "parameters.odd=0&tags=a&kinds=run.updated,task_run.updated",
];

/** The value of the only parameter of a run. */
const isOdd = (run: number): string => String(run % 2);

type Data = Record<string, unknown>;

interface ModelRun {
  flow: number;
  tags: string[];
  version: number;
  lines: number;
}

/** A store in memory: what GET would answer. */
class Model {
  readonly runs = new Map<number, ModelRun>();
  readonly tasks = new Map<number, { run: number; version: number }>();
  readonly events = new Map<number, { run: number; name: string }>();
  readonly variables = new Map<string, number>();
  lastRun = 0;
  lastTask = 0;

  readonly render = (kind: StreamKind, id: number | string): string | null => {
    const data = this.#dataOf(kind, id);
    return data === null ? null : JSON.stringify(data);
  };

  readonly subject = (kind: StreamKind, id: number | string): MessageSubject | null => {
    const none = { run: null, flow: null, project: null, tags: [], hasParameters: () => false };
    if (kind === "variable.updated") return none;
    const event = kind === "event.created" ? this.events.get(Number(id)) : undefined;
    const task = kind === "task_run.updated" ? this.tasks.get(Number(id)) : undefined;
    const runId = event?.run ?? task?.run ?? (kind === "run.updated" || kind === "log.appended" ? Number(id) : null);
    const run = runId === null ? undefined : this.runs.get(runId);
    if (run === undefined) return event === undefined ? null : { ...none, run: event.run };
    const hasParameters: MessageSubject["hasParameters"] = ({ odd }) => odd === isOdd(Number(runId));
    return { run: runId, flow: run.flow, project: projectOf(run.flow), tags: run.tags, hasParameters };
  };

  readonly eventNames: MessageRows["eventNames"] = (ids) => found(ids, (id) => this.events.get(id)?.name ?? null);

  /** Leaves some rows out, which are then read by themselves. */
  readonly together: Partial<MessageRows> = {
    texts: (kind, ids) => found(ids, (id) => (id % 5 === 0 ? null : this.render(kind, id))),
    subjects: (runs) => found(runs, (run) => this.subject("run.updated", run)),
  };

  /** Everything, as a reader that fetches again gets it. */
  records(): Map<string, Data> {
    const all = new Map<string, Data>();
    for (const id of this.runs.keys()) all.set(`run.updated ${id}`, this.#dataOf("run.updated", id) ?? {});
    for (const id of this.tasks.keys()) all.set(`task_run.updated ${id}`, this.#dataOf("task_run.updated", id) ?? {});
    for (const id of this.events.keys()) all.set(`event.created ${id}`, this.#dataOf("event.created", id) ?? {});
    for (const name of this.variables.keys()) all.set(`variable.updated ${name}`, this.#dataOf("variable.updated", name) ?? {});
    for (const [id, { lines }] of this.runs) if (lines > 0) all.set(`log.appended ${id}`, { run_id: id, last_id: lines });
    return all;
  }

  deleteRun(id: number): void {
    this.runs.delete(id);
    for (const [task, { run }] of this.tasks) if (run === id) this.tasks.delete(task);
    for (const [event, { run }] of this.events) if (run === id) this.events.delete(event);
  }

  #dataOf(kind: StreamKind, id: number | string): Data | null {
    if (kind === "variable.updated") {
      const version = this.variables.get(String(id));
      return version === undefined ? null : { name: id, version };
    }
    if (kind === "run.updated") {
      const run = this.runs.get(Number(id));
      return run === undefined ? null : { id, flow_id: run.flow, tags: run.tags, version: run.version };
    }
    const child = kind === "task_run.updated" ? this.tasks.get(Number(id)) : this.events.get(Number(id));
    return child === undefined ? null : { id, ...child, run_id: child.run };
  }
}

function projectOf(flow: number): string {
  return FLOWS.find(({ id }) => id === flow)?.project ?? "";
}

/** The oracle: whether a record belongs to what a query asks for, judged from the records of the whole stream alone. */
function belongs(query: URLSearchParams, key: string, data: Data, whole: ReadonlyMap<string, Data>): boolean {
  const [kind = ""] = key.split(" ");
  const kinds = query.get("kinds")?.split(",");
  if (kinds !== undefined && !kinds.includes(kind)) return false;
  const names = query.get("names")?.split(",");
  const isNamed = (pattern: string) =>
    pattern.endsWith("*") ? String(data["name"]).startsWith(pattern.slice(0, -1)) : data["name"] === pattern;
  if (kind === "event.created" && names !== undefined && !names.some(isNamed)) return false;
  const wanted = ["run_id", "flow_id", "project", "tags", "parameters.odd"].filter((name) => query.has(name));
  if (wanted.length === 0) return true;
  const runId = kind === "run.updated" ? data["id"] : data["run_id"];
  const run = whole.get(`run.updated ${runId}`);
  if (run === undefined) return false;
  const tags = run["tags"] as string[];
  return (
    (!query.has("run_id") || Number(query.get("run_id")) === runId) &&
    (!query.has("flow_id") || Number(query.get("flow_id")) === run["flow_id"]) &&
    (!query.has("parameters.odd") || query.get("parameters.odd") === isOdd(Number(runId))) &&
    (!query.has("project") || query.get("project") === projectOf(Number(run["flow_id"]))) &&
    (query.get("tags")?.split(",") ?? []).every((tag) => tags.includes(tag))
  );
}

/** A client that folds messages into records, and fetches everything again where it is asked to. */
class Reader {
  readonly query: URLSearchParams;
  readonly #text: string;
  readonly #model: Model;
  records = new Map<string, Data>();
  exchange: RecordedExchange = new RecordedExchange();
  #last: number | null = null;

  constructor(text: string, model: Model) {
    this.#text = text;
    this.query = new URLSearchParams(text);
    this.#model = model;
  }

  connect(hub: StreamHub): void {
    if (this.exchange.open) this.exchange.leave();
    this.exchange = new RecordedExchange();
    const since = this.#last === null ? "" : `&since=${this.#last}`;
    const start = streamStart(`${this.#text}${since}`, "");
    if (!start.ok) throw new Error(start.refusal.message);
    hub.open(this.exchange, start.since, start.filter);
    this.take();
  }

  take(): void {
    if (this.exchange.pieces.length === 0) return;
    const frames = framesOf(this.exchange);
    this.exchange.pieces.length = 0;
    for (const { id, event, data } of frames) {
      if (id !== null) this.#last = id;
      if ((event === "hello" && this.#last === null) || event === "resync") {
        this.#last ??= Number(data["latest"]);
        this.#fetch();
      } else if (event !== "hello") this.#fold(event, data);
    }
  }

  #fetch(): void {
    const whole = this.#model.records();
    this.records = new Map([...whole].filter(([key, data]) => belongs(this.query, key, data, whole)));
  }

  #fold(event: string, data: Data): void {
    const id = data["name"] !== undefined && event === "variable.updated" ? data["name"] : (data["id"] ?? data["run_id"]);
    if (data["deleted"] !== true) {
      if (event === "log.appended") this.records.set(`${event} ${id}`, { run_id: id, last_id: data["last_id"] });
      else this.records.set(`${event} ${id}`, data);
    } else this.records.delete(`${event} ${id}`);
  }
}

class World {
  readonly random: Random;
  readonly model = new Model();
  readonly time = new ManualTime();
  readonly readers: Reader[];
  readonly #readsTogether: boolean;
  #ring: StreamRing;
  #hub: StreamHub;
  #deferred: (() => void)[] = [];
  #nextSeq = 1_000;
  #nextEvent = 1;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.#readsTogether = this.random.chance(0.5);
    [this.#ring, this.#hub] = this.#make();
    this.readers = QUERIES.map((text) => new Reader(text, this.model));
    this.#commit([], []);
    for (const reader of this.readers) reader.connect(this.#hub);
  }

  #make(): [StreamRing, StreamHub] {
    const { render, subject, eventNames, together } = this.model;
    const ring = new StreamRing(messageRows({ render, subject, eventNames, ...(this.#readsTogether ? together : {}) }));
    const hub = new StreamHub(ring, {
      now: this.time.now,
      window: this.time.alarm(),
      keepAlive: this.time.alarm(),
      defer: (work) => this.#deferred.push(work),
    });
    return [ring, hub];
  }

  step(): void {
    const { random } = this;
    const what = random.weighted({ change: 60, burst: 2, pass: 20, slow: 6, drain: 8, reconnect: 8, gap: 2, restart: 1 });
    if (what === "change") this.#change(random.between(1, 6));
    else if (what === "burst") this.#burst(random.between(500, 3_000));
    else if (what === "pass") this.pass();
    else if (what === "slow") random.pick(this.readers).exchange.takes = false;
    else if (what === "drain") this.#drain(random.pick(this.readers));
    else if (what === "reconnect") random.pick(this.readers).connect(this.#hub);
    else if (what === "gap") this.#nextSeq += random.pick([3, STREAM_RING_COUNT]);
    else this.#restart();
  }

  pass(): void {
    this.time.pass(WINDOW_US);
    for (let work = this.#deferred.shift(); work !== undefined; work = this.#deferred.shift()) work();
    for (const reader of this.readers) reader.take();
  }

  /** Lets every reader have everything. */
  settle(): void {
    this.#change(1);
    for (let round = 0; round < 4; round += 1) {
      for (const reader of this.readers) this.#drain(reader);
      this.pass();
    }
  }

  #drain(reader: Reader): void {
    reader.exchange.drain();
    reader.take();
  }

  #restart(): void {
    const [ring, hub] = this.#make();
    ring.continueAfter(this.#ring.latest);
    hub.takeOver(this.#hub);
    this.#ring = ring;
    this.#hub = hub;
    for (const reader of this.readers) reader.take();
  }

  #change(count: number): void {
    const stream: [StreamKind, number | string][] = [];
    const logs: number[] = [];
    for (let made = 0; made < count; made += 1) this.#changeOne(stream, logs);
    this.#commit(stream, logs);
  }

  /** Many moves of one run, in commits that may push slow readers out of the ring. */
  #burst(count: number): void {
    const [id] = this.model.runs.keys();
    if (id === undefined) return;
    for (let left = count; left > 0; left -= 500) {
      for (const run of this.model.runs.values()) run.version += 1;
      const stream = Array.from({ length: Math.min(left, 500) }, (): [StreamKind, number] => ["run.updated", id]);
      for (const run of this.model.runs.keys()) stream.push(["run.updated", run]);
      this.#commit(stream, []);
    }
  }

  #changeOne(stream: [StreamKind, number | string][], logs: number[]): void {
    const { random, model } = this;
    const id = model.runs.size === 0 ? 0 : random.pick([...model.runs.keys()]);
    const run = model.runs.get(id);
    const kind =
      model.runs.size < 3 || run === undefined
        ? "run"
        : random.weighted({ run: 2, move: 8, task: 5, log: 4, event: 5, variable: 2, delete: 2 });
    if (kind === "run" || run === undefined) {
      model.lastRun += 1;
      const tags = TAGS.filter(() => random.chance(0.5));
      model.runs.set(model.lastRun, { flow: random.pick(FLOWS).id, tags, version: 0, lines: 0 });
      stream.push(["run.updated", model.lastRun]);
    } else if (kind === "move") {
      run.version += 1;
      stream.push(["run.updated", id]);
    } else if (kind === "task") {
      const known = [...model.tasks].filter(([, task]) => task.run === id).map(([task]) => task);
      const task = known.length > 0 && random.chance(0.5) ? random.pick(known) : ++model.lastTask;
      model.tasks.set(task, { run: id, version: (model.tasks.get(task)?.version ?? 0) + 1 });
      stream.push(["task_run.updated", task]);
    } else if (kind === "log") {
      run.lines += 3;
      stream.push(["log.appended", 0]);
      logs.push(id, run.lines, 3);
    } else if (kind === "event") {
      const event = this.#nextEvent + stream.filter(([of]) => of === "event.created").length;
      model.events.set(event, { run: id, name: random.pick(EVENT_NAMES) });
      stream.push(["event.created", 0]);
    } else if (kind === "variable") {
      const name = random.pick(["x", "y"]);
      model.variables.set(name, (model.variables.get(name) ?? 0) + 1);
      stream.push(["variable.updated", name]);
    } else {
      model.deleteRun(id);
      stream.push(["run.deleted", id]);
    }
  }

  /** The runs of messages about task runs and events; of some, the run is left to be read. */
  #runsOf(stream: readonly [StreamKind, number | string][], firstEvent: number): number[] {
    const { tasks, events } = this.model;
    let event = firstEvent;
    const runs: number[] = [];
    for (const [kind, id] of stream) {
      if (kind === "task_run.updated") runs.push(tasks.get(Number(id))?.run ?? 0);
      else if (kind === "event.created") runs.push(events.get(event++)?.run ?? 0);
    }
    return runs.map((run) => (this.random.chance(0.2) ? 0 : run));
  }

  #commit(stream: [StreamKind, number | string][], logs: number[]): void {
    const first_seq = this.#nextSeq;
    const first_event_id = this.#nextEvent;
    this.#nextSeq += stream.length;
    this.#nextEvent += stream.filter(([kind]) => kind === "event.created").length;
    const flat = stream.flatMap(([kind, id]) => [STREAM_CODE[kind], id]);
    const runs = this.#runsOf(stream, first_event_id);
    this.#hub.published(
      this.#ring.append({ kind: "Committed", replies: [], stream: flat, runs, first_seq, first_event_id, logs }),
    );
    for (const reader of this.readers) reader.take();
  }
}

function found<Value>(ids: readonly number[], read: (id: number) => Value | null): Map<number, Value> {
  return new Map(ids.flatMap((id) => (read(id) === null ? [] : [[id, read(id) as Value]])));
}

t.test("a filtered stream folded equals the whole stream folded and filtered", async (t) => {
  let selected = 0;
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const world = new World(seed);
    for (let step = 0; step < STEPS; step += 1) world.step();
    world.settle();
    const whole = world.readers[0]?.records ?? new Map<string, Data>();
    // What belonged to a deleted run goes with it.
    const isLive = ([, { run_id: run }]: [string, Data]) => run === undefined || whole.has(`run.updated ${run}`);
    const sorted = (records: Iterable<[string, Data]>) => [...records].filter(isLive).sort(([a], [b]) => (a < b ? -1 : 1));
    if (JSON.stringify(sorted(whole)) !== JSON.stringify(sorted(world.model.records())))
      t.same(sorted(whole), sorted(world.model.records()), `the whole stream shows the store, seed ${seed}`);
    for (const { query, records } of world.readers) {
      const expected = sorted([...whole].filter(([key, data]) => belongs(query, key, data, whole)));
      selected += expected.length;
      if (JSON.stringify(sorted(records)) === JSON.stringify(expected)) continue;
      t.same(sorted(records), expected, `${query}, seed ${seed}`);
    }
  }
  t.ok(selected > SEEDS * QUERIES.length, "the filters select records");
});
