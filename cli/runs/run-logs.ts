/** `millrace runs logs`. */

import type { LogFilter, Run } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { RunFollower } from "../run/follow-run.ts";
import { renderLog } from "../terminal/log-lines.ts";
import { tracebackLines } from "../terminal/outcome-lines.ts";
import { Terminal } from "../terminal/terminal.ts";
import { stateLine } from "./run-details.ts";
import { positive } from "./runs.ts";

export interface LogOptions extends ConnectionOptions {
  follow?: boolean;
  level?: string;
  search?: string;
}

export async function printLogs(idText: string, options: LogOptions): Promise<number> {
  const id = positive("the id of a run", idText);
  const client = connect(options);
  const out = new Terminal(process.stdout);
  const run = await client.runs.get(id);
  const filter = { level: options.level, search: options.search };
  if (options.follow === true && options.json !== true) {
    const ended = await new RunFollower(client, run.id, { log: out, progress: null, filter }).untilEnd();
    for (const line of failureLines(ended, filter, out)) out.line(line);
    return EXIT.ok;
  }
  const taskNames = new Map((await client.runs.tasks(id)).map((task) => [task.id, task.dynamic_key]));
  const logs = client.runs.logs(id, filter);
  if (options.json === true) {
    const all = [];
    for await (const log of logs) all.push(log);
    out.json(all);
    return EXIT.ok;
  }
  for await (const log of logs) for (const line of renderLog(log, taskNames, out)) out.line(line);
  for (const line of failureLines(run, filter, out)) out.line(line);
  return EXIT.ok;
}

/** The failure below the whole log of a failed run: its state, with the traceback stored there. */
function failureLines({ state }: Run, { level, search }: LogFilter, out: Terminal): string[] {
  const failed = state.type === "Failed" || state.type === "Crashed";
  if (!failed || level !== undefined || search !== undefined) return [];
  return [stateLine(state, out), ...tracebackLines(state, out)];
}
