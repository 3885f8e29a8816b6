/** `millrace runs show`: one run with its tasks and artifacts. */

import { progressOf, progressText } from "#protocol/records/run-progress";
import { rerunAt, type State } from "#protocol/records/state";
import type { ArtifactRow, Millrace, Run, RunExplanation, TaskRun } from "#sdk/client/index";
import { connect } from "../connection.ts";
import { counted, dateTime, stateLook, stateText } from "../terminal/format.ts";
import { messageOf, resultText, tracebackLines } from "../terminal/outcome-lines.ts";
import { renderTable } from "../terminal/table.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";
import { show, type ViewOptions } from "../terminal/view.ts";
import { durationOf, positive, startText } from "./runs.ts";
import { renderTaskFailures, renderTasks } from "./task-rows.ts";

/** A run with everything that is shown. `waits` is why it has not started, null once it has. */
export interface RunDetails {
  run: Run;
  task_runs: TaskRun[];
  artifacts: ArtifactRow[];
  waits: RunExplanation["reason"];
}

export async function showRun(idText: string, options: ViewOptions): Promise<number> {
  const id = positive("the id of a run", idText);
  const client = connect(options);
  return await show(client, options, {
    read: () => readDetails(client, id),
    lines: renderRun,
    messages: { run_id: id, kinds: ["run.updated", "task_run.updated", "artifact.updated"] },
    changedBy(message) {
      switch (message.event) {
        case "run.updated":
          return message.data.id === id;
        case "task_run.updated":
        case "artifact.updated":
          return message.data.run_id === id;
        default:
          return false;
      }
    },
  });
}

async function readDetails(client: Millrace, id: number): Promise<RunDetails> {
  const [run, task_runs, artifacts, { reason }] = await Promise.all([
    client.runs.get(id),
    client.runs.tasks(id),
    client.runs.artifacts(id),
    client.runs.explain(id),
  ]);
  return { run, task_runs, artifacts, waits: reason ?? null };
}

export function renderRun({ run, task_runs: tasks, artifacts, waits }: RunDetails, terminal: Terminal): string[] {
  const lines = [
    `Run ${run.id}  ${terminal.paint("bold", printable(run.name))}  of ${printable(`${run.project}/${run.flow_name}`)}`,
    stateLine(run.state, terminal),
    ...tracebackLines(run.state, terminal),
    ...(waits === null ? [] : [`Waits: ${printable(waits.text)}`]),
    ...wayOn(run),
    "",
    ...facts(run, artifacts, terminal),
  ];
  if (tasks.length > 0) {
    lines.push("", terminal.paint("bold", counted(tasks.length, "task")), ...renderTasks(tasks, terminal));
    lines.push(...renderTaskFailures(run, tasks, terminal));
  }
  if (artifacts.length > 0) {
    lines.push("", terminal.paint("bold", counted(artifacts.length, "artifact")), ...renderArtifacts(artifacts, terminal));
  }
  return lines;
}

/** The state and its message. */
export function stateLine(state: State, terminal: Terminal): string {
  const look = terminal.paint(["bold", ...[stateLook(state).style].flat()], stateText(state));
  const message = messageOf(state);
  return `${look}${message === null ? "" : `  ${printable(message)}`}`;
}

/** How a paused run can continue; empty for other runs. */
export function wayOn(run: Run): string[] {
  if (run.state.type !== "Paused") return [];
  const asks = run.state.details?.["prompt"] !== undefined;
  return [asks ? `Answer with: millrace runs input ${run.id} ANSWER` : `It goes on with: millrace runs resume ${run.id}`];
}

function facts(run: Run, artifacts: readonly ArtifactRow[], terminal: Terminal): string[] {
  const attempts = run.start_time === null ? 0 : (run.attempt ?? 0) + 1;
  const rerunUs = rerunAt(run.state);
  const progress = progressOf(artifacts);
  const rows: [string, string][] = [
    ["Created", `${dateTime(run.created_at)} by ${printable(run.created_by)}`],
    ["Started", startText(run)],
    ["Duration", durationOf(run)],
    ["Progress", progress === null ? "" : printable(progressText(progress))],
    ["Attempts", attempts > 1 ? String(attempts) : ""],
    ["Run again", rerunUs === null ? "" : `at ${dateTime(rerunUs)}`],
    ["Again of", run.parent_run_id == null ? "" : `run ${run.parent_run_id}`],
    ["Tags", printable(run.tags.join(", "))],
    ["Parameters", Object.keys(run.parameters).length === 0 ? "" : printable(JSON.stringify(run.parameters))],
    ["Result", resultText(run.state) ?? ""],
  ];
  const shown = rows.filter(([, text]) => text !== "");
  const width = Math.max(...shown.map(([label]) => label.length));
  return shown.map(([label, text]) => `${terminal.paint("dim", label.padEnd(width))}  ${text}`);
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
