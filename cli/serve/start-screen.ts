/** The output of `millrace serve` after its start. */

import { homedir } from "node:os";
import { relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { ServerConfig } from "#server/config/config";
import type { Discovery } from "#server/discovery/discovery";
import { problemLines } from "../run/code-problems.ts";
import { counted, duration } from "../terminal/format.ts";
import { renderTable } from "../terminal/table.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";

export interface StartScreen {
  url: string;
  servedDir: string;
  config: ServerConfig;
  discovery: Discovery;
  /** Flows whose runs share engines, at the first start that says so. */
  sharing: readonly string[];
  /** Duration of the start. */
  startMs: number;
}

/** Flows listed by name; beyond that only their number is shown. */
const FLOWS_SHOWN = 20;
/** Rules and routes listed by name. */
const NAMES_SHOWN = 6;
const LABEL_WIDTH = "Serving".length;

export function renderStartScreen(screen: StartScreen, terminal: Terminal): string[] {
  const { config, discovery } = screen;
  const lines = [
    "",
    `  ${terminal.paint("bold", "Millrace")} ${terminal.paint("dim", `is ready after ${duration(screen.startMs * 1000)}`)}`,
    "",
    labelled("Address", `${terminal.paint(["bold", "cyan"], screen.url)}${access(config)}`, terminal),
  ];
  if (config.socket !== null) lines.push(labelled("Socket", shortPath(config.socket), terminal));
  lines.push(
    labelled("Serving", shortPath(screen.servedDir), terminal),
    labelled("Home", shortPath(config.home), terminal),
    labelled("Engines", engines(config), terminal),
    "",
    ...flowLines(screen, terminal),
    ...codeLines(discovery, terminal),
    ...sharingLines(screen.sharing),
  );
  for (const warning of discovery.warnings) lines.push(`  ${terminal.paint("yellow", "\u25c6")} ${printable(warning)}`);
  lines.push(
    ...problemLines(discovery.problems, terminal).map((line) => line && `  ${line}`),
    "",
    `  ${terminal.paint("dim", stopHint(terminal))}`,
    "",
  );
  return lines;
}

function labelled(label: string, text: string, terminal: Terminal): string {
  return `  ${terminal.paint("dim", label.padEnd(LABEL_WIDTH))}  ${text}`;
}

function access(config: ServerConfig): string {
  return config.token === null ? "" : "  (a token is needed)";
}

function engines(config: ServerConfig): string {
  return config.engines
    ? `up to ${counted(config.maxEngines, "process", "processes")}, started when runs need them`
    : "none are started (--no-engines)";
}

function flowLines(screen: StartScreen, terminal: Terminal): string[] {
  const { flows, rules, routes, schedules } = screen.discovery;
  if (flows.length === 0 && rules.length + routes.length > 0) return ["  No flows were found."];
  if (flows.length === 0) {
    return [
      "  No flows were found. A flow file exports what flow() returns:",
      "",
      ...['import { flow, log } from "millrace";', 'export const hello = flow("hello", async () => log.info("Hello."));'].map(
        (line) => `    ${terminal.paint("dim", line)}`,
      ),
    ];
  }
  const shown = flows.slice(0, FLOWS_SHOWN);
  const table = renderTable(
    [
      { head: "FLOW", cell: (row) => printable(row.flow), style: () => "bold" },
      { head: "PROJECT", cell: (row) => printable(row.project), shrink: true },
      { head: "FILE", cell: (row) => printable(row.module), shrink: true },
      { head: "SCHEDULES", cell: (row) => String(schedules.get(row) ?? 0), align: "right" },
    ],
    shown,
    terminal,
  );
  const more = flows.length > shown.length ? [`  and ${flows.length - shown.length} more`] : [];
  return [...table.map((line) => `  ${line}`), ...more];
}

/** Code besides flows: rules with a function, and routes. */
function codeLines({ rules, routes }: Discovery, terminal: Terminal): string[] {
  const named = [
    { label: "Rules", names: rules.map(({ name }) => name) },
    { label: "Routes", names: routes.map(({ method, path }) => `${method} ${path}`) },
  ].filter(({ names }) => names.length > 0);
  if (named.length === 0) return [];
  return ["", ...named.map(({ label, names }) => labelled(label, shortList(names), terminal))];
}

function sharingLines(flows: readonly string[]): string[] {
  if (flows.length === 0) return [];
  return [
    "",
    `  Runs of these flows share engines while they wait: ${shortList(flows)}.`,
    "  Runs of one file share process.env, the working directory and the state of its modules. The options maxConcurrent",
    "  and exclusive bound that for a flow, [server] engine_slots and max_running for all. This is said once; more is in",
    `  ${packagedPath("docs/guides/shared-engines.md")}`,
  ];
}

function shortList(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN).map(printable).join(", ");
  return names.length > NAMES_SHOWN ? `${shown} and ${names.length - NAMES_SHOWN} more` : shown;
}

function stopHint(terminal: Terminal): string {
  return terminal.live ? "Press Ctrl-C to stop." : `Stop it with: kill ${process.pid}`;
}

/** Paths under the user's directory start with a tilde. */
function shortPath(path: string): string {
  const own = homedir();
  return path === own || path.startsWith(own + sep) ? `~${path.slice(own.length)}` : path;
}

/** Where a file of the package is, seen from the working directory. */
function packagedPath(path: string): string {
  const root = new URL(import.meta.url.endsWith(".ts") ? "../../" : "../../../", import.meta.url);
  const absolute = fileURLToPath(new URL(path, root));
  const near = relative(process.cwd(), absolute);
  return near.startsWith("..") ? shortPath(absolute) : near;
}
