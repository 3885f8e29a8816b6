/** Messages between the rule engine, the expectation timer, the outbound actor and the dispatcher. */

import type { Command, CommandNotice } from "#protocol/command";
import type { FullAction } from "#protocol/rule-spec";
import type { Trigger } from "./rule.ts";

/** An action with its templates rendered, or why they could not be. */
export type PlannedAction = { index: number; kind: FullAction["kind"] } & ({ action: FullAction } | { error: string });

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

/** A request to another system; its answer comes as OutboundDone. */
export interface OutboundRequest {
  kind: "OutboundRequest";
  id: number;
  firing_id: number;
  url: string;
  method: string;
  headers: Record<string, string>;
  body: string | null;
}

export interface OutboundDone {
  kind: "OutboundDone";
  id: number;
  firing_id: number;
  result: { detail: unknown } | { error: string };
}

export type ReactionMessage = React | Lapse | LapseTick | OutboundDone;
