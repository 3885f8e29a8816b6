/** Messages between the rule engine, the expectation timer, the outbound actor and the dispatcher. */

import type { Command, CommandNotice } from "#protocol/command";
import type { FullAction } from "#protocol/rule-spec";
import { OUTBOUND, USER_CODE } from "../names.ts";
import type { UserCallRequest } from "../user-code/messages.ts";
import type { Trigger } from "./rule.ts";

/** What the function of a code rule is called with. */
export interface CallInput {
  event: unknown;
  /** Null for an event without a run. */
  run: unknown;
}

/** An action with its templates rendered, or why they could not be. Only a `call` has an input. */
export type PlannedAction = { index: number; kind: FullAction["kind"] } & (
  | { action: FullAction; input?: CallInput }
  | { error: string }
);

/** One thing that an event leads to. */
export type Reaction =
  | { kind: "fire"; rule_id: number; trigger: Trigger; created_by: string | null; actions: PlannedAction[] }
  | { kind: "arm"; rule_id: number; key: string; run_id: number | null; flow_id: number | null; occurred: number }
  | { kind: "meet"; rule_id: number; key: string; occurred: number }
  /** An event that the engine failed at: it is passed and said so. */
  | { kind: "skip"; rule_id: number; trigger: Trigger; error: string };

/** What the events after `from` up to `to` lead to: applied whole, and only if nothing came between. */
export interface React {
  kind: "React";
  /** The start of the core whose state this was made from. */
  core: number;
  from: number;
  to: number;
  reactions: Reaction[];
}

/** The dispatcher has applied, or dropped, the last React. */
export interface Reacted {
  kind: "Reacted";
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

/** A clock-armed rule's tick: `due` is its time. */
export interface ClockTick {
  kind: "ClockTick";
  rule_id: number;
  due: number;
}

export type RulesMessage = Command | CommandNotice | Reacted | Wake | DeadlinePassed | ClockTick;

/** From the engine to the dispatcher: open expectations due by then have lapsed. */
export interface Lapse {
  kind: "Lapse";
  core: number;
  due: number;
}

/** From the engine to the dispatcher: nothing expected came before a tick. */
export interface LapseTick {
  kind: "LapseTick";
  core: number;
  rule_id: number;
  due: number;
}

/** Deadlines or clocks may have changed. */
export interface Rearm {
  kind: "Rearm";
}

/** A message to the outside: a row before it leaves, sent again until its answer has come. */
export type Outgoing = OutboundRequest | UserCallRequest;

/** A message that has no row yet. */
export type OutgoingContent = Omit<OutboundRequest, "id" | "firing_id"> | Omit<UserCallRequest, "id" | "firing_id">;

/** The actor that takes a message to the outside. */
export function receiverOf({ kind }: Outgoing): string {
  return kind === "UserCall" ? USER_CODE : OUTBOUND;
}

/** A request to another system; its answer comes as OutboundDone. */
export interface OutboundRequest {
  kind: "OutboundRequest";
  id: number;
  firing_id: number | null;
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | null;
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

export type ReactionMessage = React | Lapse | LapseTick | OutboundDone;
