/** Messages between the rule engine, the reader threads, the expectation timer, the outbound actor and the dispatcher. */

import type { FullAction } from "#protocol/records/rule-spec";
import type { QueryArguments } from "#storage/queries/named";
import type { CallInput } from "#storage/queries/rendered-actions";
import type { AwaitedEvent } from "../core/state/awaited-event.ts";
import type { Trigger } from "../core/state/rule.ts";
import { OUTBOUND, USER_CODE } from "../names.ts";
import type { UserCallRequest } from "../user-code/user-code-calls.ts";

/** An action with its templates rendered, or the error. Only a `call` has an input. */
export type PlannedAction = { index: number; kind: FullAction["kind"] } & (
  | { action: FullAction; input?: CallInput }
  | { error: string }
);

/** One reaction to an event. */
export type Reaction =
  | { kind: "fire"; rule_id: number; trigger: Trigger; created_by: string | null; actions: PlannedAction[] }
  | ({ kind: "arm"; run_id: number | null; flow_id: number | null } & ExpectationEvent)
  | ({ kind: "meet" } & ExpectationEvent)
  /** An event that crashed the rule engine: it is skipped, and recorded as a failure of its rules. */
  | { kind: "pass"; event_id: number; error: string }
  | { kind: "skip"; rule_id: number; trigger: Trigger; error: string }
  /** Durable runs wait for an event of this name. */
  | { kind: "event"; event: AwaitedEvent };

interface ExpectationEvent {
  rule_id: number;
  event_id: number;
  key: string;
  occurred: number;
}

/** The reactions to the events after `from` through `to`: applied as a whole, and only if the cursor is still at `from`. */
export interface React {
  kind: "React";
  /** The epoch of the state from which the reactions were computed. */
  core: number;
  from: number;
  to: number;
  reactions: Reaction[];
}

/** The dispatcher has applied or dropped the React with this `from`. */
export interface Reacted {
  kind: "Reacted";
  from: number;
}

/** Something was committed. */
export interface Wake {
  kind: "Wake";
}

/** A deadline has passed: expectations due by then lapse once every earlier event has been processed. */
export interface DeadlinePassed {
  kind: "DeadlinePassed";
  due: number;
}

/** A tick of a clock-armed rule at time `due`. Repeated until decided. */
export interface ClockTick {
  kind: "ClockTick";
  rule_id: number;
  due: number;
}

/** A request to the store that may take time; answered by ReadDone with the same ticket. */
export type RuleQuestion =
  | { query: "rendered_actions"; args: QueryArguments["rendered_actions"] }
  | { query: "expected_event"; args: QueryArguments["expected_event"] };

export type ReadRequest = { kind: "ReadRequest"; ticket: number } & RuleQuestion;

export interface ReadDone {
  kind: "ReadDone";
  ticket: number;
  /** JSON text, or the error. */
  result: { text: string } | { error: string };
}

/** The reader has restarted: unanswered requests have to be sent again. */
export interface ReaderStarted {
  kind: "ReaderStarted";
}

export type RulesMessage = Reacted | Wake | DeadlinePassed | ClockTick | ReadDone | ReaderStarted;

/** From the rule engine to the dispatcher: lapse open expectations due by then. */
export interface Lapse {
  kind: "Lapse";
  core: number;
  due: number;
}

/** From the rule engine to the dispatcher: the result of a tick. */
export interface TickDone {
  kind: "TickDone";
  core: number;
  rule_id: number;
  due: number;
  /** `met`: the expected event occurred, or the rule is newer than the search range. Error: the search failed. */
  outcome: "met" | "lapsed" | { error: string };
}

/** Deadlines or clocks may have changed. */
export interface Rearm {
  kind: "Rearm";
}

/** An outbound message: stored as a row before it is sent, and sent again until answered. */
export type OutboundMessage = DeliveryRequest | UserCallRequest;

/** A message that has no row yet. */
export type OutboundContent = ContentOf<WebhookRequest> | ContentOf<EmailRequest> | ContentOf<UserCallRequest>;

type ContentOf<M> = Omit<M, "id" | "firing_id">;

/** The actor that delivers an outbound message. */
export function receiverOf({ kind }: OutboundMessage): string {
  return kind === "UserCall" ? USER_CODE : OUTBOUND;
}

/** A message to another system, answered by OutboundDone. */
export type DeliveryRequest = WebhookRequest | EmailRequest;

export interface WebhookRequest {
  kind: "WebhookRequest";
  id: number;
  firing_id: number | null;
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | null;
}

export interface EmailRequest {
  kind: "EmailRequest";
  id: number;
  firing_id: number | null;
  to: string[];
  subject: string;
  text: string;
  /** The part of the mail's Message-ID before the @. */
  message_id: string;
}

/** The result of a firing's message. */
export interface OutboundDone {
  kind: "OutboundDone";
  id: number;
  firing_id: number | null;
  result: { detail: unknown } | { error: string };
}

/** An actor that delivers outbound messages has restarted: send it unanswered messages again. */
export interface ReceiverStarted {
  kind: "ReceiverStarted";
  receiver: string;
}

/** From the rule engine to the dispatcher: the oldest event up to the cursor that settles a new wait. */
export interface LookedBack {
  kind: "LookedBack";
  core: number;
  wait_id: number;
  event: AwaitedEvent | null;
}

export type ReactionMessage = React | Lapse | TickDone | LookedBack | OutboundDone;
