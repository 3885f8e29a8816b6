/** A worker thread that runs one seed after another. */
import { parentPort } from "node:worker_threads";
import { type Job, runJob } from "./jobs.ts";

parentPort?.on("message", (job: Job) => void runJob(job).then((result) => parentPort?.postMessage(result)));
