/** Messages between the user code actor and those who have user code called. */
import type { State } from "#protocol/state";

/** A run as hooks are told of it. */
export interface HookRun {
  id: number;
  external_id: string;
  name: string;
  parameters: Record<string, unknown>;
  attempt: number;
}

/** A call of user code that is a row before it is made. */
export type UserCall =
  /** The function of a code rule; event and run are their records as the rule saw them. */
  | { type: "rule"; module: string; name: string; event: unknown; run: unknown }
  /** The hook of a flow for a state that its run reached without an engine. */
  | { type: "hook"; module: string; project: string; flow: string; run: HookRun; state: State };

/** Asks for a call; the answer is OutboundDone for a rule, HookDone for a hook. */
export interface UserCallRequest {
  kind: "UserCall";
  id: number;
  /** Null for a hook. */
  firing_id: number | null;
  call: UserCall;
}
