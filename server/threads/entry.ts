/** The module every worker thread starts with: makes the actors that are placed on it, and loads only their code. */
import { workerData } from "node:worker_threads";
import { placementOf } from "#actors/tree";
import type { ActorSpec } from "#runtime/actor";
import { actorsOn } from "#runtime/placement";
import { serveThread, type ThreadHost } from "#runtime/thread";
import type { ThreadData } from "./data.ts";

interface Part {
  setUp(data: ThreadData, thread: ThreadHost): ActorSpec[];
}

/** Each part makes actors that always run together, named by one of them. */
const PARTS: Readonly<Record<string, () => Promise<Part>>> = {
  "store-writer": () => import("./writer.ts"),
  dispatcher: () => import("./core.ts"),
  gateway: () => import("./gateway.ts"),
};

const data = workerData as ThreadData;
const here = actorsOn(placementOf(data.threads, new URL(import.meta.url)), data.thread);
const parts = await Promise.all(here.flatMap((actor) => PARTS[actor]?.() ?? []));
serveThread<ThreadData>((_data, thread) => parts.flatMap((part) => part.setUp(data, thread)));
