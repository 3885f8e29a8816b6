/**
 * What a durable flow of the simulation does: steps and waits in a fixed order. A run that goes on, after a park, a crash or as
 * a fork, begins the same program again, as the code of a durable flow does.
 */
import { createHash } from "node:crypto";
import { Random } from "./random.ts";

/** A step or wait: what is the same in every attempt. */
export interface Named {
  identity: string;
  place: string;
  name: string;
}

export type WaitPlan = Named &
  (
    | { kind: "sleep"; delay: number; byTime: boolean }
    | { kind: "event"; event: string; where: Record<string, unknown> | null; timeout: number | null }
    | { kind: "input"; timeout: number | null }
    | { kind: "child"; flow: string; x: number; delay: number; on_parent_end: "cancel" | "leave" | null; registers: boolean }
  );

export type Stage =
  | { kind: "steps"; steps: Named[] }
  /** `all`: every wait has to settle, else one of them. `hold`: the run keeps its resources. */
  | { kind: "waits"; waits: WaitPlan[]; all: boolean; hold: boolean };

/** The event that durable runs wait for; people emit it with payload.n 1 or 2. */
export const AWAITED_EVENT = "note";
/** Flows of which children are made. A child has a smaller `x` than its caller, so that chains of children end. */
const CHILDREN = ["sleeper", "caller", "plain", "lone"];
const STAGES_MAX = 4;
/** Waits of one stage. */
const WAITS_TOGETHER_MAX = 3;

/** The program of a flow with these parameters; `salt` varies it from simulation to simulation. */
export function programOf(salt: number, flow: string, x: number): Stage[] {
  const random = new Random((salt ^ Math.imul(x + 1, 0x9e3779b1) ^ hashOf(flow).readUInt32LE(0)) >>> 0);
  return Array.from({ length: random.between(1, STAGES_MAX) }, (_, index) => stageOf(random, `${flow}/${x}/${index}`, x));
}

function stageOf(random: Random, path: string, x: number): Stage {
  if (random.chance(0.4)) {
    const steps = Array.from({ length: random.between(1, 3) }, (_, index) => named(`${path}/step`, index));
    return { kind: "steps", steps };
  }
  const waits = Array.from({ length: random.between(1, WAITS_TOGETHER_MAX) }, (_, index) => waitOf(random, path, index, x));
  return { kind: "waits", waits, all: random.chance(0.6), hold: random.chance(0.15) };
}

function waitOf(random: Random, path: string, index: number, x: number): WaitPlan {
  const kind = random.weighted({ sleep: 3, event: 2, input: 1.5, child: x > 0 ? 3 : 0 });
  const common = named(`${path}/${kind}`, index);
  const timeout = random.pick([null, null, 3, 12]);
  switch (kind) {
    case "sleep":
      return { ...common, kind, delay: random.pick([0, 0.3, 2, 7, 20]), byTime: random.chance(0.3) };
    case "event":
      return {
        ...common,
        kind,
        event: AWAITED_EVENT,
        where: random.pick([null, { "payload.n": 1 }, { "payload.n": 2 }]),
        timeout,
      };
    case "input":
      return { ...common, kind, timeout };
    case "child": {
      const on_parent_end = random.pick<"cancel" | "leave" | null>([null, "cancel", "leave"]);
      const registers = random.chance(0.3);
      return {
        ...common,
        kind,
        flow: random.pick(CHILDREN),
        x: Math.floor(x / 3),
        delay: random.pick([0, 0, 1, 6]),
        on_parent_end,
        registers,
      };
    }
  }
}

function named(path: string, index: number): Named {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { identity: hashOf(`${path}/${index}`).toString("hex"), place: hashOf(path).toString("hex"), name };
}

/** 128 bits. */
function hashOf(text: string): Buffer {
  return createHash("sha256").update(text).digest().subarray(0, 16);
}
