/** `millrace doctor`: the checks, their findings, and the parts that cannot be checked. */

import type { Millrace } from "#sdk/client/index";
import type { DoctorReport, DoctorOptions as Examined } from "#server/operations/doctor";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { ownStore } from "../own-home.ts";
import { counted } from "../terminal/format.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { packageVersion } from "../version.ts";

export interface DoctorOptions {
  home?: string;
  url?: string;
  store?: string;
  token?: string;
  json?: boolean;
  acceptClock?: boolean;
}

const LABEL_WIDTH = "versions".length;

/** Exit code 1 if a promise is broken; merely unusual findings are printed and do not count. */
export async function doctor(options: DoctorOptions): Promise<number> {
  const { home, database } = await ownStore(options);
  if (options.acceptClock === true) return acceptClock(options);
  const { examine } = await import("#server/operations/doctor");
  const report = examine({ home, database, version: packageVersion(), ...(await toldBy(options)) });
  const broken = report.checks.some(({ findings }) => findings.some(({ level }) => level === "broken"));
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json({ sound: !broken, ...report });
  else for (const line of render(report, out)) out.line(line);
  return broken ? EXIT.runFailed : EXIT.ok;
}

/**
 * Sends the request to the running server: only the server knows the history of its clocks. @throws MillraceError when none
 * runs.
 */
async function acceptClock(options: DoctorOptions): Promise<number> {
  const { schedules, rules } = await clientOf(options).acceptClock();
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json({ accepted: true, schedules, rules });
  else {
    out.line("The clock is accepted as it is: what is too old is deleted again.");
    const silent = [...(schedules > 0 ? [counted(schedules, "schedule")] : []), ...(rules > 0 ? [counted(rules, "rule")] : [])];
    if (silent.length > 0) out.line(`What was decided ahead of it is taken back: ${silent.join(" and ")} go on from now.`);
  }
  return EXIT.ok;
}

function clientOf({ home, token }: DoctorOptions): Millrace {
  return connect({ ...(home !== undefined && { home }), ...(token !== undefined && { token }) });
}

/** The facts from a running server; nulls if none runs for the home, or if it refuses the request. */
async function toldBy(options: DoctorOptions): Promise<Pick<Examined, "totals" | "clock">> {
  try {
    const client = clientOf(options);
    const [{ resources }, { clock_problem }] = await Promise.all([client.settings(), client.server()]);
    const totals = Object.fromEntries(Object.entries(resources).map(([name, { total }]) => [name, total]));
    return { totals, clock: { problem: clock_problem?.message ?? null } };
  } catch (error) {
    if (error instanceof Error && error.name === "MillraceError") return { totals: null, clock: null };
    throw error;
  }
}

function render(report: DoctorReport, terminal: Terminal): string[] {
  const { running, checks } = report;
  const lines = [headline(report), ""];
  for (const check of checks) {
    const { id, title, findings } = check;
    lines.push(`${mark(check, terminal)} ${id.padEnd(LABEL_WIDTH)}  ${printable(title)}`);
    for (const { text } of findings) lines.push(`  ${" ".repeat(LABEL_WIDTH)}  - ${printable(text)}`);
  }
  return [...lines, "", ...unchecked(running, checks).map((line) => terminal.paint("dim", line))];
}

function headline({ home, store, running, pid, holder }: DoctorReport): string {
  if (holder !== null) return `${store}, home ${home}: ${printable(holder)} has the store`;
  const where = /^postgres/.test(store) ? `${store}, home ${home}` : home;
  return `${where}: ${running ? `a server runs${pid === null ? "" : ` (pid ${pid})`}` : "no server runs"}`;
}

/** The marks of run states: a disc is intact, a square is broken, a diamond needs a person, an outline was not checked. */
function mark({ checked, findings }: DoctorReport["checks"][number], terminal: Terminal): string {
  if (!checked) return terminal.paint("dim", "\u25cb");
  if (findings.length === 0) return terminal.paint("green", "\u25cf");
  const broken = findings.some(({ level }) => level === "broken");
  return broken ? terminal.paint("red", "\u25a0") : terminal.paint("yellow", "\u25c6");
}

function unchecked(running: boolean, checks: DoctorReport["checks"]): string[] {
  const lines = ["Not checked, because no look at the store can tell:"];
  for (const check of checks) if (check.unchecked !== null) lines.push(`  ${check.id.padEnd(4)} ${check.unchecked}`);
  if (running) {
    lines.push(
      "  The server went on during the checks: this is one state of its store. What it holds in memory (heartbeats, parked requests,",
      "  work that is being decided) was not looked at. Stop it and look again to be sure.",
    );
  }
  return lines;
}
