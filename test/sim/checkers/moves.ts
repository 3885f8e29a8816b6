/** Every committed move is in the state table or forced, and each named move has exactly one event, in order. */
import type { ReportRequest } from "#protocol/records/engine";
import type { StateType } from "#protocol/records/state";
import { EVENTS } from "#protocol/vocabulary";
import type { Coverage } from "../coverage.ts";
import type { Request } from "../model-gateway.ts";
import { Violation } from "../trace.ts";
import type { Answer, Checker, Commit, Operation } from "./checker.ts";
import { readExchange } from "./exchange-answers.ts";
import { type History, stateKey } from "./history.ts";

const ANY = ["Scheduled", "Completed", "Failed", "Cancelled", "Crashed", "Cancelling"];

/** Allowed moves, written from the specification, independently of the code under test. */
const ALLOWED: Readonly<Record<StateType, readonly string[]>> = {
  Scheduled: [...ANY, "Pending", "Running"],
  Pending: [...ANY, "Running"],
  Running: [...ANY, "Paused"],
  Paused: [...ANY, "Running"],
  Cancelling: ["Cancelled"],
  Completed: [],
  Failed: [],
  Cancelled: [],
  Crashed: [],
};

const EVENT_BY_NAME = new Map<string, string | null>([
  ["Late", "run.late"],
  ["Retrying", "run.retrying"],
  ["Skipped", "run.skipped"],
  ["Resuming", "run.resumed"],
  ["Sleeping", null],
  ["AwaitingEvent", null],
  ["AwaitingChild", null],
  ["AwaitingRetry", null],
  ["AwaitingResource", null],
]);

const CATALOGUE: ReadonlySet<string> = new Set(EVENTS.map((event) => event.name));
/** Events that the simulated engines send themselves. */
const CUSTOM: ReadonlySet<string> = new Set(["step", "note"]);

export class MovesChecker implements Checker {
  readonly #coverage: Coverage;
  /** Events required in the batch, by run; compared when the batch is complete. */
  readonly #expected = new Map<number, string[]>();
  readonly #recorded = new Map<number, string[]>();
  /** Runs that were parked, or woken from a park, in the batch. */
  readonly #parked = new Set<number>();
  /** Runs that were waiting before the batch and are being cancelled after it. */
  readonly #cancelled = new Set<number>();
  /** Runs that were waiting and not yet late before the batch, and are cancelled after it. */
  readonly #endedWaiting = new Set<number>();
  /** Runs with events in the batch that are deleted with their flow. */
  readonly #deleted = new Set<number>();
  /** Flows of the runs that the batch creates. */
  readonly #flowOfCreated = new Map<number, number>();
  /** Starts ("run/lease/time") that an engine reports as Pending and Running together: one operation, two events. */
  readonly #startedAtOnce = new Set<string>();
  /** Those starts whose Pending was in an earlier slice of the report. */
  readonly #pendingBefore = new Set<string>();

  constructor(coverage: Coverage) {
    this.#coverage = coverage;
  }

  operation(operation: Operation, history: History): void {
    if (operation.name === "insert_event") return this.#record(operation);
    if (operation.name === "insert_run") return this.#created(operation);
    if (operation.name === "put_park") return void this.#parked.add(operation.number("run_id"));
    if (operation.name === "update_run") return this.#updated(operation, history);
    if (operation.name === "delete_flow") return this.#flowDeleted(operation.number("id"), history);
    if (operation.name === "put_task_run" && !history.runs.has(operation.number("run_id")))
      throw new Violation("rows have owners", `task run ${operation.number("id")} is of a run that is not there`);
  }

  afterCommit({ batch }: Commit): void {
    for (const run of new Set([...this.#expected.keys(), ...this.#recorded.keys()])) {
      const expected = (this.#expected.get(run) ?? []).join(" ");
      const recorded = (this.#recorded.get(run) ?? []).join(" ");
      // Reports of one exchange may park a run and end its caller, which cancels the run in the same step.
      const rest = this.#parked.has(run) ? recorded.replace(/^run\.(resumed|paused) /, "") : recorded;
      if (expected === recorded || expected === rest) continue;
      // One exchange may start a run and end its caller, which cancels the run in the same step.
      if (this.#cancelled.has(run) && expected === "" && recorded === "run.pending run.running") continue;
      // Timers that are due in one step may mark a child as late and end its parent, which cancels the child.
      if (this.#endedWaiting.has(run) && recorded === `run.late ${expected}`) continue;
      // The end of a caller cancels its child; where both are deleted with their flow, no row of the child is written any more.
      if (this.#deleted.has(run) && recorded === `${expected} run.cancelled`.trimStart()) continue;
      throw new Violation(
        "one event per move",
        `batch ${batch.number}: run ${run} has [${recorded}], its moves ask for [${expected}]`,
      );
    }
    this.#parked.clear();
    this.#cancelled.clear();
    this.#endedWaiting.clear();
    this.#deleted.clear();
    this.#flowOfCreated.clear();
    this.#expected.clear();
    this.#recorded.clear();
  }

  submitted(_id: number, request: Request): void {
    if (request.kind === "Report") this.#reported(JSON.parse(String(request.body)) as ReportRequest);
    if (request.kind === "Exchange") for (const report of readExchange(request).reports) this.#reported(report);
  }

  #reported({ run_id, lease, events }: Pick<ReportRequest, "run_id" | "lease" | "events">): void {
    const moves = events.flatMap((event) => (event.kind === "run_transition" ? [event.state] : []));
    if (moves.length > 1) this.#startedAtOnce.add(`${run_id}/${lease}/${moves.at(-1)?.timestamp}`);
  }

  /** Refused moves count towards the coverage of the table. */
  answered({ request, status, body }: Answer): void {
    if (request.kind !== "TransitionRun" || status !== 409 || body === null) return;
    const { reason, current } = JSON.parse(body) as { reason?: string; current?: { type: StateType } };
    const { type } = JSON.parse(String(request.body)) as { type: StateType };
    if (reason !== undefined && current !== undefined) this.#coverage.cell(current.type, type);
  }

  #created(operation: Operation): void {
    const run = operation.number("id");
    this.#flowOfCreated.set(run, operation.number("flow_id"));
    push(this.#expected, run, "run.scheduled");
    const type = operation.text("state_type") as StateType;
    const name = operation.text("state_name");
    if (type === "Scheduled") return;
    this.#allow("Scheduled", operation);
    this.#expect(run, type, name);
  }

  #updated(operation: Operation, history: History): void {
    const run = operation.number("id");
    const before = history.runs.get(run);
    if (before === undefined) throw new Violation("rows have owners", `run ${run} is changed but not there`);
    const type = operation.text("state_type") as StateType;
    const name = operation.text("state_name");
    const after = { type, name, timestamp: operation.number("state_timestamp") };
    if (stateKey(run, before) === stateKey(run, after)) return;
    this.#allow(before.type, operation);
    const start = `${run}/${operation.number("assignment_id")}/${after.timestamp}`;
    if (type === "Cancelling" && before.type === "Scheduled") this.#cancelled.add(run);
    if (type === "Cancelled" && before.type === "Scheduled" && before.name !== "Late") this.#endedWaiting.add(run);
    if (type === "Pending") this.#pendingBefore.add(start);
    const atOnce = this.#startedAtOnce.has(start) && !this.#pendingBefore.has(start);
    if (atOnce && before.type === "Scheduled" && type === "Running") this.#expect(run, "Pending", "Pending");
    this.#expect(run, type, name);
  }

  #flowDeleted(flow: number, history: History): void {
    for (const run of this.#recorded.keys()) {
      if ((history.runs.get(run)?.flow ?? this.#flowOfCreated.get(run)) === flow) this.#deleted.add(run);
    }
  }

  #allow(from: StateType, operation: Operation): void {
    const to = operation.text("state_type") as StateType;
    this.#coverage.cell(from, to);
    const details = operation.get("state_details");
    const forced = typeof details === "string" && (JSON.parse(details) as { forced?: boolean }).forced === true;
    if (forced || ALLOWED[from].includes(to)) return;
    throw new Violation("moves are in the table", `run ${operation.number("id")} went from ${from} to ${to}`);
  }

  #expect(run: number, type: StateType, name: string): void {
    const named = EVENT_BY_NAME.get(name);
    const event = named !== undefined ? named : type === "Cancelling" ? null : `run.${type.toLowerCase()}`;
    if (event !== null) push(this.#expected, run, event);
  }

  #record(operation: Operation): void {
    const name = operation.text("name");
    if (!CATALOGUE.has(name) && !CUSTOM.has(name)) throw new Violation("events are in the catalogue", `"${name}" is not`);
    if (operation.get("state_type") === null || operation.get("task_run_id") !== null) return;
    push(this.#recorded, operation.number("run_id"), name);
  }
}

function push(map: Map<number, string[]>, key: number, text: string): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [text]);
  else list.push(text);
}
