/** The parts that can run on a thread, each loaded only on its thread. */
import type { ActorSpec } from "#runtime/actor";
import type { ThreadHost } from "#runtime/thread";
import type { ThreadData } from "./data.ts";

export interface Part {
  setUp(data: ThreadData, thread: ThreadHost): ActorSpec[];
}

/** Each part creates actors that always run together; the key is one of these actors. */
const PARTS: Readonly<Record<string, () => Promise<Part>>> = {
  "store-writer": () => import("./writer.ts"),
  dispatcher: () => import("./core.ts"),
  gateway: () => import("./gateway.ts"),
};

/** The parts that contain these actors. */
export async function partsOf(actors: readonly string[]): Promise<Part[]> {
  return await Promise.all(actors.flatMap((actor) => PARTS[actor]?.() ?? []));
}
