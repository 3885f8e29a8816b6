/**
 * The metrics of the server. All are set at a scrape from counts that the server keeps anyway, so running work pays nothing
 * for them. Series are bounded: flows, resources and actors beyond their number are summed under "other".
 */
import { Counter, Gauge, type OpenMetricsContentType, type PrometheusContentType, Registry } from "prom-client";
import { METRIC_RESOURCES_MAX } from "#protocol/limits";
import { type CoreFigures, type DurationFigures, QUEUE_REASONS, type QueuePlace } from "#protocol/wire/figures";
import { DurationMetric } from "./duration-metric.ts";

/** What the gateway itself knows. */
export interface GatewayFigures {
  streamReaders: number;
  /** Bytes given to readers of the stream, and gaps reported to them. */
  stream: Readonly<{ bytes: number; gaps: number }>;
  /** Requests without an answer, parked polls included. */
  requests: number;
  /** Requests that wait for the end or a change of a run. */
  runWaits: number;
  /** From the arrival of a request that changes something to its answer. */
  acknowledgement: DurationFigures;
  residentBytes: number;
}

/** Runs as GET /api/counts counts them. */
export interface RunCounts {
  runs: Readonly<Record<string, number>>;
  flows: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

export interface MetricsText {
  body: string;
  type: string;
}

const { OPENMETRICS_CONTENT_TYPE, PROMETHEUS_CONTENT_TYPE } = Registry;
const OTHER = "other";
const ACTOR_STATES = ["starting", "running", "stopping", "stopped", "crashed"] as const;

export class ServerMetrics {
  readonly #collection = new Registry<PrometheusContentType | OpenMetricsContentType>();
  readonly #runs = this.#gauge("runs", "Stored runs by flow and state", ["project", "flow", "state"]);
  readonly #queue = this.#gauge("queue_runs", "Runs that wait to be handed out, by what they wait for", ["reason"]);
  readonly #resourceTotal = this.#gauge("resource_capacity", "Total of a resource", ["resource"]);
  readonly #resourceUsed = this.#gauge("resource_used", "Amount of a resource in use", ["resource"]);
  readonly #engines = this.#gauge("engines", "Engines, by whether they hold runs", ["state"]);
  readonly #engineRuns = this.#gauge("engine_runs", "Runs that engines hold");
  readonly #polls = this.#gauge("parked_polls", "Requests of engines that wait for work");
  readonly #slots = this.#gauge("free_slots", "Runs that the waiting engines would take together");
  readonly #readers = this.#gauge("stream_readers", "Readers of the event stream");
  readonly #streamBytes = this.#counter("stream_bytes_total", "Bytes given to readers of the event stream");
  readonly #streamGaps = this.#counter("stream_gaps_total", "Gaps reported to readers of the event stream (resync)");
  readonly #spans = this.#counter("spans_total", "Spans that engines sent to their collector (exported) or dropped", ["outcome"]);
  readonly #requests = this.#gauge("requests_in_progress", "Requests without an answer, parked polls included");
  readonly #runWaits = this.#gauge("run_waits", "Requests that wait for the end or a change of a run");
  readonly #mailbox = this.#gauge("actor_mailbox_messages", "Messages in the mailbox of an actor", ["actor"]);
  readonly #state = this.#gauge("actors", "Actors by state", ["state"]);
  readonly #handled = this.#counter("actor_messages_total", "Messages that an actor has handled", ["actor"]);
  readonly #dropped = this.#counter("actor_messages_dropped_total", "Messages that a full mailbox rejected", ["actor"]);
  readonly #restarts = this.#counter("actor_restarts_total", "Restarts of an actor", ["actor"]);
  readonly #stalls = this.#counter("actor_stalls_total", "Steps that held a thread for more than 250 ms", ["actor"]);
  readonly #steps = this.#counter("actor_step_seconds_total", "Total time of all steps of an actor", ["actor"]);
  readonly #database = this.#gauge("database_bytes", "Size of the database file");
  readonly #wal = this.#gauge("wal_bytes", "Size of the write-ahead log");
  readonly #engineSlots = this.#gauge("engine_slots", "Runs that an engine holds, and would take in addition", ["engine", "use"]);
  readonly #queueWait = this.#durations("queue_wait_seconds", "From the moment a run may start to its hand-out");
  readonly #dispatch = this.#durations("dispatch_seconds", "From the hand-out of a run to the start of its code");
  readonly #lateness = this.#durations("lateness_seconds", "From the scheduled time of a run to the start of its code");
  readonly #commit = this.#durations("commit_seconds", "Duration of a transaction of the store");
  readonly #acknowledgement = this.#durations("acknowledgement_seconds", "From a request that changes something to its answer");
  readonly #loopDelay = this.#durations("event_loop_delay_seconds", "Delay of the event loop of a thread", ["thread"]);
  readonly #resident = this.#gauge("resident_memory_bytes", "Memory of the server process, all threads together");
  readonly #heapUsed = this.#gauge("heap_used_bytes", "Objects in the JavaScript heap of a thread", ["thread"]);
  readonly #heapSize = this.#gauge("heap_size_bytes", "Size of the JavaScript heap of a thread", ["thread"]);
  readonly #heapLimit = this.#gauge("heap_limit_bytes", "Size that the JavaScript heap of a thread may reach", ["thread"]);
  readonly #external = this.#gauge("external_memory_bytes", "Memory outside of the heap that objects of a thread hold", [
    "thread",
  ]);

  /** In one form for good: the library renames counters when it renders them as OpenMetrics. */
  constructor(openMetrics: boolean) {
    this.#collection.setContentType(openMetrics ? OPENMETRICS_CONTENT_TYPE : PROMETHEUS_CONTENT_TYPE);
  }

  async text(core: CoreFigures, counts: RunCounts, gateway: GatewayFigures): Promise<MetricsText> {
    this.#take(core, counts, gateway);
    return { body: await this.#collection.metrics(), type: this.#collection.contentType };
  }

  #take(core: CoreFigures, counts: RunCounts, gateway: GatewayFigures): void {
    this.#takeRuns(core, counts);
    for (const [place, reason] of Object.entries(QUEUE_REASONS)) this.#queue.set({ reason }, core.queue[place as QueuePlace]);
    this.#takeResources(core);
    this.#polls.set(core.polls.count);
    this.#slots.set(core.polls.slots);
    this.#takeActors(core);
    this.#database.set(core.database_bytes);
    this.#wal.set(core.wal_bytes);
    this.#readers.set(gateway.streamReaders);
    for (const counter of [this.#streamBytes, this.#streamGaps]) counter.reset();
    this.#streamBytes.inc(gateway.stream.bytes);
    this.#streamGaps.inc(gateway.stream.gaps);
    this.#spans.reset();
    for (const outcome of ["exported", "dropped"] as const) this.#spans.inc({ outcome }, core.spans[outcome]);
    this.#requests.set(gateway.requests);
    this.#runWaits.set(gateway.runWaits);
    this.#takeEngines(core);
    this.#takeThreads(core);
    this.#queueWait.take([[{}, core.queue_wait]]);
    this.#dispatch.take([[{}, core.dispatch]]);
    this.#lateness.take([[{}, core.lateness]]);
    this.#commit.take([[{}, core.commit]]);
    this.#acknowledgement.take([[{}, gateway.acknowledgement]]);
    this.#resident.set(gateway.residentBytes);
  }

  #takeRuns({ flows }: CoreFigures, counts: RunCounts): void {
    this.#runs.reset();
    const rest = new Map(Object.entries(counts.runs));
    for (const [id, project, flow] of flows) {
      for (const [state, count] of Object.entries(counts.flows[id] ?? {})) {
        this.#runs.set({ project, flow, state }, count);
        rest.set(state, (rest.get(state) ?? 0) - count);
      }
    }
    for (const [state, count] of rest) this.#runs.inc({ project: OTHER, flow: OTHER, state }, Math.max(0, count));
  }

  #takeResources({ resources }: CoreFigures): void {
    this.#resourceTotal.reset();
    this.#resourceUsed.reset();
    for (const [index, { name, total, used }] of resources.entries()) {
      const resource = index < METRIC_RESOURCES_MAX ? name : OTHER;
      this.#resourceTotal.inc({ resource }, total);
      this.#resourceUsed.inc({ resource }, used);
    }
  }

  #takeEngines({ engines, engine_slots }: CoreFigures): void {
    this.#engines.set({ state: "busy" }, engines.busy);
    this.#engines.set({ state: "idle" }, engines.count - engines.busy);
    this.#engineRuns.set(engines.runs);
    this.#engineSlots.reset();
    for (const { engine, busy, free } of engine_slots) {
      this.#engineSlots.set({ engine, use: "busy" }, busy);
      this.#engineSlots.set({ engine, use: "free" }, free);
    }
  }

  #takeThreads({ threads }: CoreFigures): void {
    for (const gauge of [this.#heapUsed, this.#heapSize, this.#heapLimit, this.#external]) gauge.reset();
    for (const { thread, ...memory } of threads) {
      this.#heapUsed.set({ thread }, memory.heap_used_bytes);
      this.#heapSize.set({ thread }, memory.heap_size_bytes);
      this.#heapLimit.set({ thread }, memory.heap_limit_bytes);
      this.#external.set({ thread }, memory.external_bytes);
    }
    this.#loopDelay.take(threads.flatMap(({ thread, loop_delay }) => (loop_delay === null ? [] : [[{ thread }, loop_delay]])));
  }

  #takeActors({ actors }: CoreFigures): void {
    for (const counter of [this.#handled, this.#dropped, this.#restarts, this.#stalls, this.#steps]) counter.reset();
    for (const state of ACTOR_STATES) this.#state.set({ state }, actors.filter((actor) => actor.state === state).length);
    for (const { name: actor, ...figures } of actors) {
      this.#mailbox.set({ actor }, figures.mailbox_depth);
      this.#handled.inc({ actor }, figures.handled);
      this.#dropped.inc({ actor }, figures.dropped);
      this.#restarts.inc({ actor }, figures.restarts);
      this.#stalls.inc({ actor }, figures.stalls);
      this.#steps.inc({ actor }, figures.step_us / 1e6);
    }
  }

  #gauge(name: string, help: string, labelNames: string[] = []): Gauge {
    return new Gauge({ name: `millrace_${name}`, help, labelNames, registers: [this.#collection] });
  }

  #durations(name: string, help: string, labelNames: string[] = []): DurationMetric {
    return new DurationMetric({ name: `millrace_${name}`, help, labelNames, registers: [this.#collection] });
  }

  #counter(name: string, help: string, labelNames: string[] = []): Counter {
    return new Counter({ name: `millrace_${name}`, help, labelNames, registers: [this.#collection] });
  }
}
