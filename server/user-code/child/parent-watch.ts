/**
 * A thread of the user-code process that ends the process when its parent is gone: a killed server cannot end it, and a busy
 * loop keeps it from noticing the closed channel.
 */
import { workerData } from "node:worker_threads";

/** Interval of the checks for the parent. */
const LOOK_MS = 1000;

const parent = workerData as number;
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, "SIGKILL");
}, LOOK_MS);
