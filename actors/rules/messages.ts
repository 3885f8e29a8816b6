/** Messages between the rule engine, the reader threads, the expectation timer, the outbound actor and the dispatcher. */

import type { FullAction } from "#protocol/rule-spec";
import type { QueryArguments } from "#storage/queries/named";
import type { CallInput } from "#storage/queries/rendered-actions";
import { OUTBOUND, USER_CODE } from "../names.ts";
import type { UserCallRequest } from "../user-code/messages.ts";
import type { Trigger } from "./rule.ts";

/** An action with its templates rendered, or why they could not be. Only a `call` has an input. */
export type PlannedAction = { index: number; kind: FullAction["kind"] } & (
  | { action: FullAction; input?: CallInput }
  | { error: string }
);

/** One thing that an event leads to. */
export type Reaction =
  | { kind: "fire"; rule_id: number; trigger: Trigger; created_by: string | null; actions: PlannedAction[] }
  | ({ kind: "arm"; run_id: number | null; flow_id: number | null } & ExpectationEvent)
  | ({ kind: "meet" } & ExpectationEvent)
  /** An event that the engine failed at: it is passed, and its rules say so. */
  | { kind: "pass"; event_id: number; error: string }
  | { kind: "skip"; rule_id: number; trigger: Trigger; error: string };

interface ExpectationEvent {
  rule_id: number;
  event_id: number;
  key: string;
  occurred: number;
}

/** What the events after `from` up to `to` lead to: applied whole, and only if nothing came between. */
export interface React {
  kind: "React";
  /** The start of the core whose state this was made from. */
  core: number;
  from: number;
  to: number;
  reactions: Reaction[];
}

/** The dispatcher has applied, or dropped, the React from there on. */
export interface Reacted {
  kind: "Reacted";
  from: number;
}

/** Something was committed. */
export interface Wake {
  kind: "Wake";
}

/** A deadline has passed: expectations up to it lapse once every event before has been looked at. */
export interface DeadlinePassed {
  kind: "DeadlinePassed";
  due: number;
}

/** A clock-armed rule's tick: `due` is its time. Comes again until it is decided. */
export interface ClockTick {
  kind: "ClockTick";
  rule_id: number;
  due: number;
}

/** A question to the store that may take its time; answered by ReadDone with the same ticket. */
export type RuleQuestion =
  | { query: "rendered_actions"; args: QueryArguments["rendered_actions"] }
  | { query: "expected_event"; args: QueryArguments["expected_event"] };

export type ReadRequest = { kind: "ReadRequest"; ticket: number } & RuleQuestion;

export interface ReadDone {
  kind: "ReadDone";
  ticket: number;
  /** JSON text, or why there is no answer. */
  result: { text: string } | { error: string };
}

/** The reader has started anew: what it had not answered is asked again. */
export interface ReaderStarted {
  kind: "ReaderStarted";
}

export type RulesMessage = Reacted | Wake | DeadlinePassed | ClockTick | ReadDone | ReaderStarted;

/** From the engine to the dispatcher: open expectations due by then have lapsed. */
export interface Lapse {
  kind: "Lapse";
  core: number;
  due: number;
}

/** From the engine to the dispatcher: a tick is over. */
export interface TickDone {
  kind: "TickDone";
  core: number;
  rule_id: number;
  due: number;
  /** `met`: what is expected came, or the rule does not watch that long yet. An error: it could not be found out. */
  outcome: "met" | "lapsed" | { error: string };
}

/** Deadlines or clocks may have changed. */
export interface Rearm {
  kind: "Rearm";
}

/** A message to the outside: a row before it leaves, sent again until its answer has come. */
export type Outgoing = OutboundRequest | UserCallRequest;

/** A message that has no row yet. */
export type OutgoingContent = ContentOf<WebhookRequest> | ContentOf<EmailRequest> | ContentOf<UserCallRequest>;

type ContentOf<M> = Omit<M, "id" | "firing_id">;

/** The actor that takes a message to the outside. */
export function receiverOf({ kind }: Outgoing): string {
  return kind === "UserCall" ? USER_CODE : OUTBOUND;
}

/** A message to another system; its answer comes as OutboundDone. */
export type OutboundRequest = WebhookRequest | EmailRequest;

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
  /** The part of the message's id before the @. */
  message_id: string;
}

/** What became of a message of a firing. */
export interface OutboundDone {
  kind: "OutboundDone";
  id: number;
  firing_id: number | null;
  result: { detail: unknown } | { error: string };
}

/** An actor that takes messages to the outside has started anew: what it had not answered is sent to it again. */
export interface ReceiverStarted {
  kind: "ReceiverStarted";
  receiver: string;
}

export type ReactionMessage = React | Lapse | TickDone | OutboundDone;
