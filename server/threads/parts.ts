/** What can run on a thread, loaded only where it does. */
import type { ActorSpec } from "#runtime/actor";
import type { ThreadHost } from "#runtime/thread";
import type { ThreadData } from "./data.ts";

export interface Part {
  setUp(data: ThreadData, thread: ThreadHost): ActorSpec[];
}

/** Each part makes actors that always run together, named by one of them. */
const PARTS: Readonly<Record<string, () => Promise<Part>>> = {
  "store-writer": () => import("./writer.ts"),
  dispatcher: () => import("./core.ts"),
  gateway: () => import("./gateway.ts"),
};

/** The parts whose actors are among these. */
export async function partsOf(actors: readonly string[]): Promise<Part[]> {
  return await Promise.all(actors.flatMap((actor) => PARTS[actor]?.() ?? []));
}
