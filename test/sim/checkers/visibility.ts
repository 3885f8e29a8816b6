/** Every command is decided and answered once, and nothing becomes visible before it is stored. */

import { IDEMPOTENCY_KEEP_US } from "#protocol/limits";
import type { CreatedRun, RefusedRun } from "#protocol/records/run-batch";
import { type Committed, eventAnswers, KINDS_OF_RUNS, STREAM_KINDS, type StreamKind } from "#protocol/wire/feed";
import type { SimulatedTime } from "../simulated-time.ts";
import { Violation } from "../trace.ts";
import type { Answer, Checker, Commit } from "./checker.ts";
import { type History, stateKey } from "./history.ts";

const RULE = "nothing before its commit";

export class VisibilityChecker implements Checker {
  readonly #answers = new Map<number, string>();
  /** Commands whose decision is stored. */
  readonly #decided = new Set<number>();
  readonly #time: SimulatedTime;
  readonly #runOfKey = new Map<string, { run: number; sinceUs: number }>();
  /** Runs whose creation was answered. */
  readonly #created = new Set<number>();

  constructor(time: SimulatedTime) {
    this.#time = time;
  }

  commit({ batch }: Commit): void {
    const commands = eventAnswers({ stream: batch.stream, first_event_id: 0 }).map(([command]) => command);
    for (let at = 0; at < batch.replies.length; at += 3) commands.push(Number(batch.replies[at]));
    for (const command of commands) {
      if (this.#decided.has(command)) throw new Violation("a command is decided once", `command ${command} was stored twice`);
      this.#decided.add(command);
    }
  }

  fed(message: Committed, history: History): void {
    for (let at = 0; at < message.replies.length; at += 3) {
      const id = Number(message.replies[at]);
      const answer = `${message.replies[at + 1]} ${message.replies[at + 2]}`;
      const known = this.#answers.get(id);
      if (known !== undefined && known !== answer)
        throw new Violation(
          "one answer per command",
          `command ${id} was answered ${known.slice(0, 80)}, then ${answer.slice(0, 80)}`,
        );
      this.#answers.set(id, answer);
    }
    for (let at = 0; at < message.stream.length; at += 2) {
      const kind = STREAM_KINDS[Number(message.stream[at])];
      const id = Number(message.stream[at + 1]);
      if (!isStored(kind, id, history)) throw new Violation(RULE, `${kind} ${id} is streamed and not stored`);
    }
    const events = message.stream.filter((value, at) => at % 2 === 0 && STREAM_KINDS[Number(value)] === "event.created").length;
    if (events > 0 && message.first_event_id + events - 1 > history.events)
      throw new Violation(RULE, `event ${message.first_event_id} is streamed and not stored`);
    this.#runs(message, history);
  }

  /** The runs that the feed gives are those of the rows. */
  #runs({ stream, runs, first_event_id }: Committed, history: History): void {
    let event = first_event_id;
    let index = 0;
    for (let at = 0; at < stream.length; at += 2) {
      const kind = STREAM_KINDS[Number(stream[at])];
      if (kind === undefined || !KINDS_OF_RUNS.has(kind)) continue;
      const id = kind === "event.created" ? event++ : Number(stream[at + 1]);
      const expected = runOf(kind, id, history);
      const told = runs[index++];
      // A deleted task run is unknown to the history.
      if (expected !== null && told !== expected)
        throw new Violation("messages have the runs of their rows", `${kind} ${id} has run ${told} instead of ${expected}`);
    }
    if (index !== runs.length) throw new Violation(RULE, `${runs.length} runs for ${index} messages`);
  }

  answered({ request, status, body }: Answer, history: History): void {
    if (status >= 300) return;
    switch (request.kind) {
      case "CreateRun":
      case "CreateFlowRun":
      case "TransitionRun":
      case "CancelRun":
      case "ResumeRun":
        this.#run(request.kind, body ?? "{}", history);
        return this.#once(request.idempotency?.key, body ?? "{}");
      case "CreateRuns":
        return this.#batch(request.idempotency?.key, body ?? "{}", history);
      case "DeleteRun":
        if (history.runs.has(request.target)) throw new Violation(RULE, `run ${request.target} is not deleted`);
        return;
      case "AcquireLease": {
        const { lease } = JSON.parse(body ?? "{}") as { lease?: number };
        if (lease !== undefined && !history.leasesEver.has(lease)) throw new Violation(RULE, `lease ${lease} is not stored`);
        return;
      }
      default:
    }
  }

  look(history: History): void {
    for (const run of this.#created)
      if (!history.runsEver.has(run)) throw new Violation("what was answered stays", `run ${run} is not there`);
  }

  /** The same key gives the same run for a day of the wall clock. */
  #once(key: string | undefined, body: string): void {
    if (key === undefined) return;
    const { id, created_at } = JSON.parse(body) as { id: number; created_at: number };
    this.#onceBy(key, id, created_at);
  }

  #onceBy(key: string, id: number, created_at: number): void {
    const known = this.#runOfKey.get(key);
    if (known === undefined || this.#time.newestUs - known.sinceUs > IDEMPOTENCY_KEEP_US)
      this.#runOfKey.set(key, { run: id, sinceUs: created_at });
    else if (known.run !== id) throw new Violation("one run per key", `${key} gave run ${known.run}, then run ${id}`);
  }

  /** Entries of runs that were not created have no id. */
  #batch(key: string | undefined, body: string, history: History): void {
    const { created, runs } = JSON.parse(body) as { created: number; runs: (CreatedRun | RefusedRun)[] };
    const made = runs.filter((entry): entry is CreatedRun => "id" in entry);
    if (made.length !== created) throw new Violation(RULE, `a batch of ${created} runs was answered with ${made.length}`);
    for (const run of made) this.#stored("CreateRuns", run, history);
    const first = made[0];
    if (key !== undefined && first !== undefined) this.#onceBy(key, first.id, first.state.timestamp);
  }

  #run(kind: string, body: string, history: History): void {
    this.#stored(kind, JSON.parse(body) as Pick<CreatedRun, "id" | "state">, history);
  }

  #stored(kind: string, { id, state }: Pick<CreatedRun, "id" | "state">, history: History): void {
    if (!history.states.has(stateKey(id, state)))
      throw new Violation(RULE, `${kind} was answered with run ${id} ${state.name}, which is not stored`);
    if (kind === "CreateRun" || kind === "CreateRuns") this.#created.add(id);
  }
}

function runOf(kind: StreamKind, id: number, history: History): number | null {
  if (kind === "event.created") return history.eventRuns[id - 1] ?? null;
  return (kind === "artifact.updated" ? history.artifactsEver.get(id) : history.tasks.get(id)?.run) ?? null;
}

function isStored(kind: string | undefined, id: number, history: History): boolean {
  switch (kind) {
    case "run.updated":
    case "run.deleted":
      return history.runsEver.has(id);
    case "task_run.updated":
      return id <= history.newestTask;
    case "flow.registered":
      return history.flowsEver.has(id);
    case "artifact.updated":
      return history.artifactsEver.has(id);
    default:
      return true;
  }
}
