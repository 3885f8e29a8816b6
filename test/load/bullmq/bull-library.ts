/**
 * BullMQ, installed by npm into a scratch folder, because this repository does not depend on it. Only what the measurement
 * uses of it is typed here.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LoadFailed } from "../load-failed.ts";
import { field } from "../target.ts";

const PACKAGE = "bullmq@5";

export interface BullConnection {
  host: string;
  port: number;
  maxRetriesPerRequest: null;
}

export interface BullJob {
  /** Milliseconds since the Unix epoch: of the creation, the start and the end. */
  timestamp: number;
  processedOn?: number;
  finishedOn?: number;
}

export interface BullQueue {
  add(name: string, data: object): Promise<unknown>;
  addBulk(jobs: readonly { name: string; data: object }[]): Promise<unknown>;
  close(): Promise<void>;
}

export interface BullWorker {
  on(event: "completed", listener: (job: BullJob) => void): void;
  on(event: "failed", listener: (job: unknown, error: Error) => void): void;
  on(event: "error", listener: (error: Error) => void): void;
  waitUntilReady(): Promise<unknown>;
}

export interface BullLibrary {
  Queue: new (name: string, options: { connection: BullConnection }) => BullQueue;
  Worker: new (
    name: string,
    work: () => Promise<unknown>,
    options: { connection: BullConnection; concurrency: number },
  ) => BullWorker;
}

/** The library as installed in a folder. */
export function loadBull(folder: string): BullLibrary {
  return createRequire(join(folder, "package.json"))("bullmq") as BullLibrary;
}

export interface InstalledBull {
  folder: string;
  version: string;
  /** Removes a folder that was created here. */
  stop: () => void;
}

/** @param given a folder in which the library is installed, or is to be; null creates one */
export function installBull(given: string | null): InstalledBull {
  const folder = given ?? mkdtempSync(join(tmpdir(), "millrace-load-bullmq-"));
  const stop = () => {
    if (given === null) rmSync(folder, { recursive: true, force: true });
  };
  try {
    const manifest = join(folder, "node_modules/bullmq/package.json");
    if (!existsSync(manifest)) install(folder);
    return { folder, version: String(field(JSON.parse(readFileSync(manifest, "utf8")), "version")), stop };
  } catch (error) {
    stop();
    throw error;
  }
}

function install(folder: string): void {
  writeFileSync(join(folder, "package.json"), '{"private": true}\n');
  try {
    execFileSync("npm", ["install", "--no-audit", "--no-fund", PACKAGE], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw new LoadFailed(`npm install ${PACKAGE} failed: ${String(field(error, "stderr") ?? error).slice(0, 2_000)}`);
  }
}
