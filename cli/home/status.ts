/** `millrace status`: whether a server runs, and its condition. */
import type { Queue, ServerInfo } from "#sdk/client/index";
import { clientHome, findLocalServer } from "#sdk/client/local-server";
import { type ConnectionOptions, connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { problemLines } from "../run/code-problems.ts";
import { counted, dateTime, duration } from "../terminal/format.ts";
import { printable, Terminal } from "../terminal/terminal.ts";

const LABEL_WIDTH = "Engines".length;

/** @throws MillraceError when no server runs, or it does not answer. */
export async function status(options: ConnectionOptions): Promise<number> {
  // Without this check, a killed server would only be reported as an address that does not answer.
  if (options.url === undefined) findLocalServer(clientHome(options.home));
  const client = connect(options);
  const [server, counts, settings, queue] = await Promise.all([
    client.server(),
    client.counts(),
    client.settings(),
    client.queue(),
  ]);
  const planned = plannedIn(queue);
  const out = new Terminal(process.stdout);
  const problems = settings.code_problems;
  if (options.json === true) {
    out.json({ running: true, ...server, active_runs: counts.active, planned_runs: planned, code_problems: problems });
    return EXIT.ok;
  }
  for (const [label, text] of rows(server, counts.active, planned)) out.line(`${label.padEnd(LABEL_WIDTH)}  ${text}`);
  for (const line of problemLines(problems, out)) out.line(line);
  return EXIT.ok;
}

/** Runs scheduled for later: they wait for their time, not for an engine. */
export function plannedIn({ reasons }: Pick<Queue, "reasons">): number {
  return reasons.filter(({ code }) => code === "not_due").reduce((sum, { count }) => sum + count, 0);
}

function rows(server: ServerInfo, active: number, planned: number): [string, string][] {
  const { url, pid, version, started_at, served_dir, home, engines, queued } = server;
  const busy = engines.filter(({ current_run }) => current_run !== null).length;
  return [
    ["Address", printable(url)],
    ["Version", printable(version)],
    ["Process", `${pid}, since ${dateTime(started_at)} (${duration(Date.now() * 1000 - started_at)})`],
    ["Serving", printable(served_dir ?? "nothing")],
    ["Home", printable(home)],
    ["Engines", `${engines.length}, ${busy} of them busy`],
    ["Runs", runsText(active, queued - planned, planned)],
    ...storeRow(server),
    ...clockRow(server),
  ];
}

function storeRow({ store_problem: problem }: ServerInfo): [string, string][] {
  if (problem == null) return [];
  return [["Store", `takes no writes since ${dateTime(problem.since)}: ${printable(problem.message)}`]];
}

function clockRow({ clock_problem: problem }: ServerInfo): [string, string][] {
  return problem == null ? [] : [["Clock", printable(problem.message)]];
}

export function runsText(active: number, queued: number, planned: number): string {
  // The three numbers come from separate reads while runs continue.
  const parts = [`${Math.max(0, queued)} of them queued`, ...(planned === 0 ? [] : [`${planned} planned for later`])];
  return `${counted(active, "run")} not ended, ${parts.join(", ")}`;
}
