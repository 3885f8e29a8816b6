/**
 * One step of an actor of the dispatch group. Handlers change the live state and add to the four parts of a step: the rows that
 * changed, the events, the answers and the stream messages. `finish` sends all of it as one decision, so a command is applied as
 * a whole or not.
 */
import type { CommandHead } from "#protocol/wire/command";
import { assert } from "#runtime/assert";
import type { Outbox } from "#runtime/effect";
import { type Decision, emptyDecision } from "#storage/write/batch";
import type { IdSource } from "../ids.ts";
import { COMMITS, SERVER_LOG } from "../names.ts";
import type { DecisionMessage, LateMessage } from "../store-writer/commit-client.ts";
import type { Flow } from "./state/flow.ts";
import type { LiveState } from "./state/live-state.ts";
import type { Run } from "./state/run.ts";
import { StepAnswers } from "./step-answers.ts";
import { StepEvents } from "./step-events.ts";
import type { StepFacts } from "./step-facts.ts";
import { StepRows } from "./step-rows.ts";
import { StepStream } from "./step-stream.ts";

/** A run whose downstream runs are to be created. */
export interface CompletedRun {
  run: Run;
  /** Flows along the run's chain of skipped runs; null until computed. */
  above: Set<Flow> | null;
}

export class Turn implements StepFacts {
  readonly state: LiveState;
  readonly nowUs: number;
  readonly ids: IdSource;
  readonly out: Outbox;
  readonly number: number;
  /** Length of the chain of rules that led to what is decided here, inherited by new events and runs. 0 without a rule. */
  readonly ruleDepth: number;
  /** The header of the request that is decided here, which new runs keep; undefined without one. */
  readonly traceparent: string | undefined;
  readonly decision: Decision;
  readonly rows: StepRows;
  readonly events: StepEvents;
  readonly answers: StepAnswers;
  readonly stream: StepStream;
  /** Runs that completed in this step and whose downstream runs have yet to be created. */
  readonly completed: CompletedRun[];

  /** Runs of lineages that ended in this step and whose lineages have yet to follow. */
  readonly ended: Run[];

  /** Messages that leave once the decision is committed: orders that cannot be taken back. */
  readonly #afterCommit: LateMessage[];

  /** `step` is the step that this turn is a part of, if its decision has begun. */
  constructor(
    state: LiveState,
    nowUs: number,
    ids: IdSource,
    out: Outbox,
    number: number,
    ruleDepth = 0,
    step: Turn | null = null,
    traceparent: string | undefined = undefined,
  ) {
    this.state = state;
    this.nowUs = nowUs;
    this.ids = ids;
    this.out = out;
    this.number = number;
    this.ruleDepth = ruleDepth;
    this.traceparent = traceparent;
    this.decision = step?.decision ?? emptyDecision();
    this.stream = step?.stream ?? new StepStream(this.decision);
    this.rows = step?.rows ?? new StepRows(this, this.stream);
    this.answers = step?.answers ?? new StepAnswers(this);
    this.completed = step?.completed ?? [];
    this.ended = step?.ended ?? [];
    this.#afterCommit = step === null ? [] : step.#afterCommit;
    this.events = new StepEvents(this, this.stream, ruleDepth);
  }

  /** This step for what follows from a chain of this many rules: another origin, the same decision. */
  inChain(ruleDepth: number): Turn {
    if (ruleDepth === this.ruleDepth) return this;
    return new Turn(this.state, this.nowUs, this.ids, this.out, this.number, ruleDepth, this);
  }

  /** This step for what a command causes. */
  causedBy({ rule_depth = 0, traceparent }: Pick<CommandHead, "rule_depth" | "traceparent">): Turn {
    if (traceparent === undefined) return this.inChain(rule_depth);
    return new Turn(this.state, this.nowUs, this.ids, this.out, this.number, rule_depth, this, traceparent);
  }

  /** The wall clock; during an unaccepted step of it, the time it would show without that step. */
  get trustedUs(): number {
    return this.state.clock.trustedUs(this.nowUs, this.state.uptimeUs);
  }

  get receivedUs(): number {
    return Math.max(this.nowUs, this.trustedUs);
  }

  /** Sends a message to an actor once the decision is committed. */
  sendAfterCommit(to: string, message: unknown): void {
    this.#afterCommit.push({ to, message });
  }

  /** Writes a line to the server's log. */
  warn(text: string): void {
    this.out.send(SERVER_LOG, { level: "warn", text });
  }

  /** Writes the touched rows and sends the decision. */
  finish(): void {
    assert(this.completed.length === 0, "the downstream runs of every completed run are created");
    assert(this.ended.length === 0, "the lineages of every ended run have followed");
    this.rows.finish();
    this.stream.finish();
    const { ops, logs, replies, stream } = this.decision;
    const afterCommit = this.#afterCommit;
    if (ops.length + logs.length + replies.length + stream.length + afterCommit.length === 0) return;
    const late = afterCommit.length > 0 ? { afterCommit } : {};
    this.out.send(COMMITS, { decision: this.decision, turn: this.number, ...late } satisfies DecisionMessage);
  }
}
