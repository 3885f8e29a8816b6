/** The entry module of every worker thread: creates the actors placed on that thread, and loads only their code. */
import { workerData } from "node:worker_threads";
import { SERVER_LOG } from "#actors/names";
import { placementOf } from "#actors/tree";
import { actorsOn } from "#runtime/placement";
import { serveThread } from "#runtime/thread";
import { type LogMessage, stallText } from "../server-log.ts";
import type { ThreadData } from "./data.ts";
import { partsOf } from "./parts.ts";

const data = workerData as ThreadData;
const here = actorsOn(placementOf(data.threads, new URL(import.meta.url)), data.thread);
const parts = await partsOf(here);
serveThread<ThreadData>((_data, thread) => {
  thread.onStall((stall) => thread.host.send(SERVER_LOG, { level: "warn", text: stallText(stall) } satisfies LogMessage));
  return parts.flatMap((part) => part.setUp(data, thread));
});
