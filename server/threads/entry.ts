/** The module every worker thread starts with: makes the actors that are placed on it, and loads only their code. */
import { workerData } from "node:worker_threads";
import { placementOf } from "#actors/tree";
import { actorsOn } from "#runtime/placement";
import { serveThread } from "#runtime/thread";
import type { ThreadData } from "./data.ts";
import { partsOf } from "./parts.ts";

const data = workerData as ThreadData;
const here = actorsOn(placementOf(data.threads, new URL(import.meta.url)), data.thread);
const parts = await partsOf(here);
serveThread<ThreadData>((_data, thread) => parts.flatMap((part) => part.setUp(data, thread)));
