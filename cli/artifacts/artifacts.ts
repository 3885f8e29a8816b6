/** `millrace artifacts ls | show`. */

import type { ArtifactListItem, Millrace } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { flowsNamed } from "../run/flow-target.ts";
import { positive } from "../runs/runs.ts";
import { dateTime } from "../terminal/format.ts";
import { renderTable } from "../terminal/table.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { show, type ViewOptions } from "../terminal/view.ts";

export interface ArtifactListOptions extends ViewOptions {
  run?: string;
  flow?: string;
  project?: string;
  kind?: string;
  key?: string;
  limit: string;
}

const PAGE_MAX = 500;
/** Steps of a progress bar. */
const BAR_COLUMNS = 40;

export async function listArtifacts(options: ArtifactListOptions): Promise<number> {
  const limit = positive("--limit", options.limit);
  const { flow, project, kind, key } = options;
  if (kind !== undefined) await checkKind(kind);
  const filter = { flow, project, kind, key, run_id: options.run === undefined ? undefined : positive("--run", options.run) };
  const client = connect(options);
  if (flow !== undefined) await flowsNamed(client, flow, project);
  return await show(client, options, {
    read: () => client.artifacts.list(filter, { pageSize: Math.min(limit, PAGE_MAX) }).first(limit),
    lines: (rows, out) => (rows.length > 0 ? renderArtifacts(rows, out) : out.live ? ["No artifact matches."] : []),
    messages: { kinds: ["artifact.updated"] },
    changedBy: ({ event }) => event === "artifact.updated",
  });
}

async function checkKind(kind: string): Promise<void> {
  const { ARTIFACT_KINDS } = await import("#protocol/records/artifact");
  if (ARTIFACT_KINDS.some((known) => known === kind)) return;
  throw new CommandError(`there is no kind of artifact "${kind}"`, `Known: ${ARTIFACT_KINDS.join(", ")}.`);
}

function renderArtifacts(rows: readonly ArtifactListItem[], terminal: Terminal): string[] {
  return renderTable(
    [
      { head: "ID", cell: ({ id }) => String(id), align: "right" },
      { head: "KIND", cell: ({ kind }) => kind },
      { head: "KEY", cell: ({ key }) => printable(key ?? ""), shrink: true },
      { head: "TITLE", cell: ({ data }) => printable(titleOf(data)), shrink: true },
      { head: "RUN", cell: ({ run_id }) => String(run_id), align: "right" },
      { head: "FLOW", cell: ({ project, flow_name }) => printable(`${project}/${flow_name}`), shrink: true },
      { head: "UPDATED", cell: ({ updated_at }) => dateTime(updated_at) },
    ],
    rows,
    terminal,
  );
}

function titleOf(data: Record<string, unknown>): string {
  const title = data["title"] ?? data["text"] ?? data["label"] ?? "";
  return typeof title === "string" ? (title.split("\n")[0] ?? "") : "";
}

export async function showArtifact(idText: string, options: ConnectionOptions): Promise<number> {
  const artifact = await findArtifact(connect(options), positive("the id of an artifact", idText));
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json(artifact);
  else for (const line of renderArtifact(artifact, out)) out.line(line);
  return EXIT.ok;
}

/** The interface only lists artifacts, newest first; the wanted artifact is the first of the list that starts at its id. */
async function findArtifact(client: Millrace, id: number): Promise<ArtifactListItem> {
  const { items } = await client.artifacts.list({}, { pageSize: 1 }).page(id + 1);
  const [artifact] = items;
  if (artifact?.id !== id) throw new CommandError(`there is no artifact ${id}`);
  return artifact;
}

export function renderArtifact(artifact: ArtifactListItem, terminal: Terminal): string[] {
  const { data, kind, key, run_id, project, flow_name, updated_at } = artifact;
  const title = data["title"] === undefined ? kind : String(data["title"]);
  const place = `${kind}${key == null ? "" : ` "${key}"`} of run ${run_id}, ${project}/${flow_name}, ${dateTime(updated_at)}`;
  return [terminal.paint("bold", printable(title)), terminal.paint("dim", printable(place)), "", ...body(artifact, terminal)];
}

function body({ kind, data }: ArtifactListItem, terminal: Terminal): string[] {
  switch (kind) {
    case "markdown":
      return printable(String(data["text"])).split("\n");
    case "table":
      return renderRows(data, terminal);
    case "progress": {
      const value = Number(data["value"]);
      const filled = Math.round((value / 100) * BAR_COLUMNS);
      return [`${"#".repeat(filled)}${"-".repeat(BAR_COLUMNS - filled)}  ${value} %  ${printable(String(data["label"] ?? ""))}`];
    }
    case "link":
      return [printable(String(data["url"]))];
    case "image": {
      const src = String(data["src"]);
      return [
        src.startsWith("data:") ? `${src.slice(0, src.indexOf(","))}, ${src.length} characters; --json has them` : printable(src),
      ];
    }
    default:
      return kind satisfies never;
  }
}

function renderRows(data: Record<string, unknown>, terminal: Terminal): string[] {
  const rows = (data["rows"] ?? []) as (Record<string, unknown> | unknown[])[];
  const names = (data["columns"] as string[] | null | undefined) ?? Object.keys(rows[0] ?? {});
  const columns = names.map((head, index) => ({
    head: printable(head),
    cell: (row: Record<string, unknown> | unknown[]) => cellText(Array.isArray(row) ? row[index] : row[head]),
    shrink: true,
  }));
  return renderTable(columns, rows, terminal);
}

function cellText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return printable(typeof value === "string" ? value : JSON.stringify(value));
}
