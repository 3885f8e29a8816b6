/**
 * Bodies of the engine protocol, written as text, because building them must cost the load generator as little as possible.
 * All texts are ASCII, so their length is their length in bytes.
 */
import { asciiJson } from "./http-connection.ts";
import { type SeededRandom, uuidV7 } from "./random.ts";

/** Longest time the server may hold a poll: the value that engines send. */
export const POLL_WAIT_MS = 30_000;
const INFO = 20;
const LOGGER = "millrace.run";
const WORDS = ["rows", "read", "from", "the", "warehouse", "and", "checked", "against", "yesterday", "total", "of", "orders"];
const WORDS_PER_LINE = 8;
/** Different texts, so that log lines compress and cache no better than real ones. */
const TEXTS = 64;

/** The flow that engines poll for and creators start. */
export interface LoadFlow {
  project: string;
  name: string;
  module: string;
  source_dir: string;
}

/** Microseconds since the Unix epoch, from the steady clock. */
export function nowUs(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1_000);
}

export function createBody(flow: LoadFlow, runName: string, registers: boolean, tags: readonly string[] = []): string {
  const { project, name, module, source_dir } = flow;
  const run = { flow: name, project, name: runName, created_by: "load", ...(tags.length > 0 ? { tags } : {}) };
  return asciiJson(registers ? { ...run, module, source_dir } : run);
}

/** A body of POST /api/runs/batch. */
export function createBatchBody(flow: LoadFlow, runNames: readonly string[]): string {
  const { project, name } = flow;
  return asciiJson({ defaults: { flow: name, project, created_by: "load" }, runs: runNames.map((run) => ({ name: run })) });
}

/** What all exchanges of an engine have in common: the beginning of their bodies. */
export function exchangeHead(flow: LoadFlow, engineId: string, pid: number): string {
  const { module, source_dir } = flow;
  return `${asciiJson({ engine_id: engineId, pid, source_dir, module, isolated: false, nice: 0 }).slice(0, -1)},`;
}

/** `ownsStop`: the engine ends runs itself, and gets a lease. */
export function workBody(flow: LoadFlow, engineId: string, pid: number, ownsStop = false): string {
  const { module, source_dir } = flow;
  const own = ownsStop ? { owns_stop: true } : {};
  return asciiJson({ engine_id: engineId, pid, source_dir, module, isolated: false, nice: 0, wait_ms: POLL_WAIT_MS, ...own });
}

/** All five fields, as in engines. */
export function transitionBody(type: string, name = type, message: string | null = null): string {
  return asciiJson({ type, name, message, details: {}, force: false });
}

/** Writes the reports of one engine: task runs, log lines, sequence numbers. */
export class ReportWriter {
  /** As JSON text. */
  #engineId: string;
  readonly #random: SeededRandom;
  readonly #texts: string[];

  constructor(engineId: string, random: SeededRandom) {
    this.#engineId = asciiJson(engineId);
    this.#random = random;
    this.#texts = Array.from({ length: TEXTS }, () =>
      Array.from({ length: WORDS_PER_LINE }, () => WORDS[random.below(WORDS.length)]).join(" "),
    );
  }

  set engineId(id: string) {
    this.#engineId = asciiJson(id);
  }

  /** The report of a run's work, and the next free number. */
  work(runId: number, firstSeq: number, tasks: number, logs: number): { body: string; nextSeq: number } {
    const { events, nextSeq } = this.#work(runId, firstSeq, tasks, logs);
    return { body: this.#report(runId, events.join(",")), nextSeq };
  }

  /** The report that starts a run under a lease: Pending, Running. */
  beginning(runId: number, lease: number): string {
    return this.#report(runId, this.beginningEvents(), lease);
  }

  beginningEvents(): string {
    return ["Pending", "Running"].map((type, index) => runMove(index + 1, `{"type":"${type}"}`)).join(",");
  }

  /** The report that ends a run under a lease: its work, its last log line and its last move (a transition's body). */
  ending(runId: number, lease: number, firstSeq: number, tasks: number, logs: number, move: string): string {
    return this.#report(runId, this.endingEvents(runId, firstSeq, tasks, logs, move), lease);
  }

  endingEvents(runId: number, firstSeq: number, tasks: number, logs: number, move: string): string {
    const { events, nextSeq } = this.#work(runId, firstSeq, tasks, logs);
    if (logs > 0) events.push(this.#closing(runId, nextSeq));
    return [...events, runMove(nextSeq + 1, move)].join(",");
  }

  /** Each task created, Pending, Running, Completed, then the log lines. */
  #work(runId: number, firstSeq: number, tasks: number, logs: number): { events: string[]; nextSeq: number } {
    const events: string[] = [];
    let seq = firstSeq;
    for (let task = 0; task < tasks; task++) {
      const id = uuidV7(this.#random, Date.now());
      events.push(
        `{"seq":${seq++},"kind":"task_run_created","external_id":"${id}","name":"step","task_key":"step","dynamic_key":"step-${task}","parents":[]}`,
      );
      for (const type of ["Pending", "Running", "Completed"]) {
        const state = `{"type":"${type}","name":"${type}","message":null,"details":{},"timestamp":${nowUs()}}`;
        events.push(`{"seq":${seq++},"kind":"task_run_transition","external_id":"${id}","state":${state},"force":false}`);
      }
    }
    if (logs > 0) events.push(`{"seq":${seq++},"kind":"logs","logs":[${this.lines(runId, logs)}]}`);
    return { events, nextSeq: seq };
  }

  /** The report after the run's last move: its last log line. */
  closing(runId: number, seq: number): string {
    return this.#report(runId, this.#closing(runId, seq));
  }

  #closing(runId: number, seq: number): string {
    return `{"seq":${seq},"kind":"logs","logs":[${this.#line(runId, `run ${runId} completed`)}]}`;
  }

  heartbeat(runId: number): string {
    return `{"engine_id":${this.#engineId},"run_id":${runId}}`;
  }

  /** Log lines without an enclosing report. */
  lines(runId: number, count: number): string {
    const lines: string[] = [];
    for (let line = 0; line < count; line++) {
      lines.push(this.#line(runId, `${line} ${this.#texts[this.#random.below(TEXTS)]}`));
    }
    return lines.join(",");
  }

  #line(runId: number, message: string): string {
    return `{"run_id":${runId},"task_run_id":null,"task_run_external_id":null,"level":${INFO},"logger":"${LOGGER}","timestamp":${nowUs()},"message":"${message}"}`;
  }

  #report(runId: number, events: string, lease: number | null = null): string {
    const under = lease === null ? "" : `"lease":${lease},`;
    return `{"engine_id":${this.#engineId},"run_id":${runId},${under}"events":[${events}]}`;
  }
}

/** A move of the run as an event of a report; `state` is a transition's body. */
function runMove(seq: number, state: string): string {
  return `{"seq":${seq},"kind":"run_transition","state":${state.slice(0, -1)},"timestamp":${nowUs()}}}`;
}
