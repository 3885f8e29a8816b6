/** `millrace flows`: the flows of the server, one flow in full, and the removal of a flow whose code is gone. */
import type { FlowSummary, Millrace, ScheduleRow, StreamMessage } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { problemLines } from "../run/code-problems.ts";
import { findFlow, type NameTarget } from "../run/flow-target.ts";
import { nextText, specText } from "../schedules/schedules.ts";
import { counted, duration, stateLook, stateText } from "../terminal/format.ts";
import { renderTable } from "../terminal/table.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { show, type ViewOptions } from "../terminal/view.ts";

/** Number of latest ended runs that are shown. */
const RESULTS = 10;

export interface FlowListOptions extends ViewOptions {
  project?: string;
}

export async function listFlows(options: FlowListOptions): Promise<number> {
  const client = connect(options);
  return await show(client, options, {
    read: () => readFlows(client, options),
    json: ({ flows }) => flows,
    lines({ flows, problems }, out) {
      const none = out.live ? [options.project === undefined ? "There are no flows yet." : "No flow matches."] : [];
      return [...(flows.length > 0 ? renderFlows(flows, out) : none), ...problemLines(problems, out)];
    },
    messages: { kinds: ["flow.registered", "run.updated", "schedule.updated"] },
    changedBy: ({ event }: StreamMessage) =>
      event === "flow.registered" || event === "run.updated" || event === "schedule.updated",
  });
}

/** Files that do not load may hold flows of the requested project, so they are always shown. */
async function readFlows(client: Millrace, { project }: FlowListOptions) {
  const [flows, settings] = await Promise.all([client.flows.list({ project, results: RESULTS }), client.settings()]);
  return { flows, problems: settings.code_problems };
}

export function renderFlows(flows: readonly FlowSummary[], terminal: Terminal): string[] {
  return renderTable(
    [
      { head: "ID", cell: ({ id }) => String(id), align: "right" },
      { head: "FLOW", cell: ({ project, name }) => printable(`${project}/${name}`), shrink: true },
      { head: "MODULE", cell: ({ module }) => printable(module), shrink: true },
      { head: "LAST RUNS", cell: (flow) => marksOf(flow) },
      { head: "NEXT", cell: (flow) => nextOf(flow) },
      { head: "CODE", cell: (flow) => codeOf(flow).split("\n", 1)[0] ?? "", style: codeStyle, shrink: true },
    ],
    flows,
    terminal,
  );
}

/** Newest on the right. */
function marksOf({ results = [] }: FlowSummary): string {
  return results
    .toReversed()
    .map(([, type, name]) => stateLook({ type, name }).mark)
    .join("");
}

function nextOf({ schedules }: FlowSummary): string {
  const [first] = schedules
    .filter(({ active, next_fire }) => active && next_fire !== null)
    .sort((a, b) => Number(a.next_fire) - Number(b.next_fire));
  if (first !== undefined) return nextWithZone(first);
  return schedules.length === 0 ? "" : "paused";
}

/** The next fire in the zone of its schedule; the zone is included because it has no column here. */
function nextWithZone(schedule: ScheduleRow): string {
  const zone = schedule.schedule.timezone;
  return zone == null ? nextText(schedule) : `${nextText(schedule)} ${zone}`;
}

function codeOf({ live, error, schedule_error }: FlowSummary): string {
  if (error !== null) return printable(error);
  const standing = live ? "served" : "not served";
  return schedule_error === null ? standing : `${standing}; ${printable(schedule_error)}`;
}

function codeStyle({ error, schedule_error }: FlowSummary): "red" | "yellow" | null {
  if (error !== null) return "red";
  return schedule_error === null ? null : "yellow";
}

export async function showFlow(name: string, options: ViewOptions): Promise<number> {
  const client = connect(options);
  const { id, project } = await findFlow(client, targetOf(name));
  return await show(client, options, {
    async read() {
      const flows = await client.flows.list({ project, results: RESULTS });
      return flows.find((flow) => flow.id === id) ?? (await client.flows.get(id));
    },
    lines: renderFlow,
    messages: { flow_id: id, kinds: ["flow.registered", "run.updated", "schedule.updated"] },
    changedBy(message) {
      if (message.event === "flow.registered") return message.data.id === id;
      return message.event === "run.updated" || message.event === "schedule.updated";
    },
  });
}

/** FLOW or PROJECT/FLOW. */
function targetOf(name: string): NameTarget {
  const slash = name.indexOf("/");
  return { kind: "name", project: slash < 0 ? null : name.slice(0, slash), flow: name.slice(slash + 1) };
}

export function renderFlow(flow: FlowSummary, terminal: Terminal): string[] {
  const lines = [`Flow ${flow.id}  ${terminal.paint("bold", printable(`${flow.project}/${flow.name}`))}`];
  if (flow.description !== null) lines.push(printable(flow.description));
  lines.push("", ...facts(flow, terminal));
  if (flow.schedules.length > 0) lines.push("", terminal.paint("bold", counted(flow.schedules.length, "schedule")));
  for (const row of flow.schedules) {
    const next = row.active ? (row.next_fire === null ? "never fires" : `next ${nextWithZone(row)}`) : "paused";
    lines.push(`${row.id}  ${printable(specText(row.schedule))}  ${next}`);
  }
  if (flow.results === undefined || flow.results.length === 0) return lines;
  return [...lines, "", terminal.paint("bold", "Last runs"), ...renderResults(flow.results, terminal)];
}

function facts(flow: FlowSummary, terminal: Terminal): string[] {
  const rows: [string, string][] = [
    ["Code", `${codeOf(flow)}, ${printable(`${flow.module} in ${flow.source_dir}`)}`],
    ["Group", printable(flow.group ?? "")],
    ["Tags", printable(flow.tags.join(", "))],
    ["Parameters", printable(parametersOf(flow.parameter_schema))],
    ["Follows", printable(flow.upstreams.join(", "))],
    ["Followed by", printable(flow.triggers.join(", "))],
    ["Options", printable(optionsOf(flow.options))],
  ];
  const shown = rows.filter(([, text]) => text !== "");
  const width = Math.max(...shown.map(([label]) => label.length));
  return shown.map(([label, text]) => `${terminal.paint("dim", label.padEnd(width))}  ${text}`);
}

/** In the form for `-p`: `day`, or `day=2026-01-01` with a default. */
function parametersOf(schema: Record<string, unknown>): string {
  const properties = (schema["properties"] ?? {}) as Record<string, Record<string, unknown>>;
  const words = Object.entries(properties).map(([name, property]) =>
    "default" in property ? `${name}=${plain(property["default"])}` : name,
  );
  return words.join("  ");
}

/** The options that are set: not null, false, empty or zero. */
function optionsOf(options: Record<string, unknown>): string {
  const told = Object.entries(options).filter(([name, value]) => {
    if (name === "schedules" || name === "after" || value === null || value === false || value === 0) return false;
    return typeof value !== "object" || Object.keys(value).length > 0;
  });
  return told.map(([name, value]) => `${name}=${plain(value)}`).join("  ");
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function renderResults(results: FlowSummary["recent_runs"], terminal: Terminal): string[] {
  return renderTable(
    [
      { head: "ID", cell: ([id]) => String(id), align: "right" },
      {
        head: "STATE",
        cell: ([, type, name]) => stateText({ type, name }),
        style: ([, type, name]) => stateLook({ type, name }).style,
      },
      { head: "DURATION", cell: ([, , , took]) => (took === null ? "" : duration(took)), align: "right" },
    ],
    results,
    terminal,
  );
}

export async function removeFlow(name: string, options: ConnectionOptions): Promise<number> {
  const client = connect(options);
  const flow = await findFlow(client, targetOf(name));
  if (flow.live) throw new CommandError(`flow ${flow.project}/${flow.name} is served`, "Remove it from its file first.");
  await client.flows.delete(flow.id);
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json({ id: flow.id, deleted: true });
  else out.line(`Flow ${flow.project}/${flow.name} is removed, with its runs and schedules.`);
  return EXIT.ok;
}
