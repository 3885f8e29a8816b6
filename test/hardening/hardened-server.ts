/** A server in a separate process, with one record of each kind, as target of the hardening tests. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { builtPath } from "../support/built-package.ts";
import { listening } from "../support/command-line.ts";
import type { Known } from "./large-requests.ts";

const ROOT = resolve(import.meta.dirname, "../..");

export interface HardenedServer {
  url: string;
  pid: number;
  home: string;
  /** Output of the process, which goes to a file: a full disk takes none of it. */
  output(): string;
  /** Null while the process lives. */
  ended(): string | null;
  stop(): Promise<void>;
}

/**
 * Starts the compiled command line, without engines. `config`: the text of millrace.toml; `clock`: a file with the offset
 * of the wall clock in milliseconds.
 */
export async function startHardenedServer(
  flags: readonly string[] = [],
  home?: string,
  options: { heapMb?: number; openFiles?: number; config?: string; clock?: string } = {},
): Promise<HardenedServer> {
  const scratch = mkdtempSync(join(tmpdir(), "millrace-hardening-"));
  const served = join(scratch, "flows");
  const used = home ?? join(scratch, "home");
  mkdirSync(served);
  if (options.config !== undefined) writeFileSync(join(served, "millrace.toml"), options.config);
  const [program = "", ...args] = [
    ...(options.openFiles === undefined ? [] : ["prlimit", `--nofile=${options.openFiles}:${options.openFiles}`]),
    process.execPath,
    ...(options.heapMb === undefined ? [] : [`--max-old-space-size=${options.heapMb}`]),
    ...(options.clock === undefined ? [] : [`--import=${new URL("./set-clock.ts", import.meta.url).href}`]),
    builtPath("cli/main"),
    "serve",
    served,
    "--home",
    used,
    ...["--port", "0", "--no-engines", "--no-open", ...flags],
  ];
  const path = join(scratch, "output");
  const file = openSync(path, "a");
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { ...process.env, ...(options.clock !== undefined && { MILLRACE_TEST_CLOCK: options.clock }) },
    stdio: ["ignore", file, file],
  });
  closeSync(file);
  const output = () => readFileSync(path, "utf8");
  let ended: string | null = null;
  const exited = once(child, "exit").then(([code, signal]) => {
    ended = (signal as string | null) ?? `code ${code}`;
    return { errors: output() };
  });
  const url = await listening({ child, ended: exited }, used);
  return {
    url,
    pid: child.pid ?? 0,
    home: used,
    output,
    ended: () => ended,
    stop: async () => {
      if (ended === null) {
        child.kill("SIGTERM");
        const limit = setTimeout(() => child.kill("SIGKILL"), 10_000);
        await once(child, "exit");
        clearTimeout(limit);
      }
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

/** Creates one record of each kind and returns the values that identify them. */
export async function seedRecords(url: string): Promise<Known> {
  const post = async (path: string, body: unknown): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Record<string, unknown>;
  };
  const schema = { type: "object", properties: { day: { type: "string", format: "date" }, data: {} } };
  const run = await post("/api/runs", {
    flow: "flow",
    project: "project",
    module: "flow.ts",
    source_dir: "/nowhere",
    parameter_schema: schema,
  });
  const schedule = await post(`/api/flows/${run["flow_id"]}/schedules`, { kind: "interval", interval: 86_400 });
  const rule = await post("/api/rules", {
    name: "rule",
    when: { events: ["never"] },
    do: [{ kind: "webhook", url: "http://127.0.0.1:1/" }],
  });
  await post("/api/variables", { name: "variable", value: 1 });
  return {
    "runs.id": run["id"],
    "flows.id": run["flow_id"],
    "schedules.id": schedule["id"],
    "rules.id": rule["id"],
    name: "variable",
    flow: "flow",
    project: "project",
    run_id: run["id"],
    engine_id: "engine",
    source_dir: "/nowhere",
    module: "flow.ts",
    pid: process.pid,
    kind: "interval",
    interval: 86_400,
    parameter: "day",
    start: "2026-01-01",
    end: "2026-01-02",
  };
}
