/**
 * A thread of the user-code process that ends it when its parent has gone: a server that is killed cannot end it, and user code
 * in a busy loop keeps it from seeing that the channel is closed.
 */
import { workerData } from "node:worker_threads";

/** How often the parent is looked for. */
const LOOK_MS = 1000;

const parent = workerData as number;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, "SIGKILL");
}, LOOK_MS);
