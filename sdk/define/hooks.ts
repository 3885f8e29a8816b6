import { format } from "node:util";
import type { State, StateType } from "#protocol/records/state";
import type { ActiveRun } from "../execution/active-run.ts";
import { describeFailure } from "../execution/failure.ts";
import { writeLog } from "../execution/run-log.ts";
import type { OptionNames } from "./declaration-notes.ts";

/** The argument of a hook. */
export interface HookEvent {
  /** The run of the state, or the run of the task run. */
  run: { id: number; externalId: string; name: string; project: string; flow: string; parameters: Record<string, unknown> };
  /** The task run, null for a hook of a flow. */
  task: { id: string; name: string; dynamicKey: string } | null;
  /** The new state. */
  state: State;
}

/** A function that is called after a change of state. */
export type Hook = (event: HookEvent) => unknown;

/** Functions that are called when a task run ends. */
export interface TaskHooks {
  /** Called when it has completed. */
  onCompletion?: Hook;
  /** Called when it has failed, after its last retry. */
  onFailure?: Hook;
  /** Called when it was cancelled. */
  onCancel?: Hook;
}

/** Functions that are called when a run of the flow changes its state. */
export interface FlowHooks extends TaskHooks {
  /** Called in another engine process after the engine that executed the run died. */
  onCrash?: Hook;
}

export const TASK_HOOK_NAMES: OptionNames<TaskHooks> = { onCompletion: true, onFailure: true, onCancel: true };
export const FLOW_HOOK_NAMES: OptionNames<FlowHooks> = { ...TASK_HOOK_NAMES, onCrash: true };

const HOOKED = ["Completed", "Failed", "Cancelled", "Crashed"] as const;

/** The state types that have a hook. */
export function hookedStates(hooks: FlowHooks | undefined): StateType[] {
  return HOOKED.filter((type) => hookFor(hooks, type) !== undefined);
}

/** The hook for a state. */
export function hookFor(hooks: FlowHooks | undefined, type: State["type"]): Hook | undefined {
  switch (type) {
    case "Completed":
      return hooks?.onCompletion;
    case "Failed":
      return hooks?.onFailure;
    case "Cancelled":
      return hooks?.onCancel;
    case "Crashed":
      return hooks?.onCrash;
    default:
      return undefined;
  }
}

/** Calls a hook; an error it throws is logged and has no other effect. */
export async function callStateHook(hook: Hook, run: ActiveRun, task: HookEvent["task"], state: State): Promise<void> {
  const { id, externalId, name, project, flow, parameters } = run;
  try {
    await hook({ run: { id, externalId, name, project, flow, parameters }, task, state });
  } catch (error) {
    writeLog(run, task?.id ?? null, 40, "millrace.run", format("a hook threw: %s", describeFailure(error).traceback));
  }
}
