/** `millrace logs`. */

import type { FoundLog, Millrace } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { flowsNamed } from "../run/flow-target.ts";
import { positive } from "../runs/runs.ts";
import { dateTime } from "../terminal/format.ts";
import { renderLog } from "../terminal/log-lines.ts";
import { printable, Terminal } from "../terminal/terminal.ts";

export interface LogSearchOptions extends ConnectionOptions {
  search?: string;
  level?: string;
  flow?: string;
  project?: string;
  limit: string;
}

const PAGE_MAX = 1_000;

/** Prints lines as they are found: the search of a large log takes many pages. */
export async function searchLogs({ search: q, level, flow, project, ...options }: LogSearchOptions): Promise<number> {
  const limit = positive("--limit", options.limit);
  const client = connect(options);
  const runs = flow === undefined ? { project } : { flow_id: await idOfFlow(client, flow, project) };
  const out = new Terminal(process.stdout);
  const isJson = options.json === true;
  const found: FoundLog[] = [];
  const logs = client.logs.search({ q, level, ...runs }, { pageSize: Math.min(limit, PAGE_MAX) });
  for await (const log of logs) {
    found.push(log);
    if (!isJson) for (const line of renderFound(log, out)) out.line(line);
    if (found.length === limit) break;
  }
  if (isJson) out.json(found);
  else if (found.length === 0 && out.live) out.line("No line matches.");
  return EXIT.ok;
}

async function idOfFlow(client: Millrace, name: string, project: string | undefined): Promise<number> {
  const [flow, ...others] = await flowsNamed(client, name, project);
  if (others.length === 0) return flow.id;
  const projects = [flow, ...others].map((one) => one.project).join(", ");
  throw new CommandError(`flow "${name}" exists in several projects`, `Name one with --project: ${projects}.`);
}

/** The line as in the log of its run, behind its day and its run. */
export function renderFound(log: FoundLog, out: Terminal): string[] {
  const [first = "", ...rest] = renderLog(log, new Map(), out);
  const [day] = dateTime(log.timestamp).split(" ");
  const owner = printable(`${log.project}/${log.flow_name} ${log.run_id}`);
  return [`${out.paint("dim", `${day}`)} ${first}  ${out.paint("dim", `(${owner})`)}`, ...rest];
}
