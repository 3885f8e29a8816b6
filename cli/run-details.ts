/** `millrace runs show`: one run with its tasks and artifacts. */

import type { ArtifactRow, Run, TaskRun } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "./connection.ts";
import { EXIT } from "./exit-code.ts";
import { counted, dateTime, duration, stateLook, stateText } from "./format.ts";
import { durationOf, positive } from "./runs.ts";
import { renderTable } from "./table.ts";
import { printable, Terminal } from "./terminal.ts";

export async function showRun(idText: string, options: ConnectionOptions): Promise<number> {
  const id = positive("the id of a run", idText);
  const client = connect(options);
  const [run, tasks, artifacts] = await Promise.all([client.runs.get(id), client.runs.tasks(id), client.runs.artifacts(id)]);
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json({ run, task_runs: tasks, artifacts });
  else for (const line of renderRun(run, tasks, artifacts, out)) out.line(line);
  return EXIT.ok;
}

export function renderRun(run: Run, tasks: readonly TaskRun[], artifacts: readonly ArtifactRow[], terminal: Terminal): string[] {
  const state = terminal.paint(["bold", ...[stateLook(run.state).style].flat()], stateText(run.state));
  const lines = [
    `Run ${run.id}  ${terminal.paint("bold", printable(run.name))}  of ${printable(`${run.project}/${run.flow_name}`)}`,
    `${state}${run.state.message === null ? "" : `  ${printable(run.state.message)}`}`,
    "",
    ...facts(run, terminal),
  ];
  if (tasks.length > 0) lines.push("", terminal.paint("bold", counted(tasks.length, "task")), ...renderTasks(tasks, terminal));
  if (artifacts.length > 0) {
    lines.push("", terminal.paint("bold", counted(artifacts.length, "artifact")), ...renderArtifacts(artifacts, terminal));
  }
  return lines;
}

function facts(run: Run, terminal: Terminal): string[] {
  const rows: [string, string][] = [
    ["Created", `${dateTime(run.created_at)} by ${printable(run.created_by)}`],
    ["Started", run.start_time === null ? "not yet" : dateTime(run.start_time)],
    ["Duration", durationOf(run)],
    ["Attempt", run.attempt > 0 ? `${run.attempt + 1}` : ""],
    ["Tags", printable(run.tags.join(", "))],
    ["Parameters", Object.keys(run.parameters).length === 0 ? "" : printable(JSON.stringify(run.parameters))],
  ];
  const shown = rows.filter(([, text]) => text !== "");
  const width = Math.max(...shown.map(([label]) => label.length));
  return shown.map(([label, text]) => `${terminal.paint("dim", label.padEnd(width))}  ${text}`);
}

/** Task runs in the order they were created. */
export function renderTasks(tasks: readonly TaskRun[], terminal: Terminal): string[] {
  return renderTable(
    [
      { head: "TASK", cell: (task) => printable(task.dynamic_key), shrink: true },
      { head: "STATE", cell: (task) => stateText(task.state), style: (task) => stateLook(task.state).style },
      { head: "DURATION", cell: (task) => (task.total_run_time === null ? "" : duration(task.total_run_time)), align: "right" },
      { head: "MESSAGE", cell: (task) => printable(task.state.message ?? ""), shrink: true },
    ],
    tasks,
    terminal,
  );
}

function renderArtifacts(artifacts: readonly ArtifactRow[], terminal: Terminal): string[] {
  return renderTable(
    [
      { head: "ID", cell: (artifact) => String(artifact.id), align: "right" },
      { head: "KIND", cell: (artifact) => printable(artifact.kind) },
      { head: "KEY", cell: (artifact) => printable(artifact.key ?? ""), shrink: true },
      { head: "UPDATED", cell: (artifact) => dateTime(artifact.updated_at) },
    ],
    artifacts,
    terminal,
  );
}
