/**
 * `npm run demo`: starts a server on a temporary home, runs the weather flow in a real engine process, and shows the results.
 * Exit code 0, or 1 if the run did not complete.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { RunFollower } from "#cli/run/follow-run";
import { startServer } from "#cli/serve/running-server";
import { counted, duration, stateLook, stateText } from "#cli/terminal/format";
import { renderTable } from "#cli/terminal/table";
import { printable, Terminal } from "#cli/terminal/terminal";
import { type ArtifactRow, Millrace, type Run, type TaskRun } from "#sdk/client/index";
import { loadConfig } from "#server/config/config";

const FLOW = "weather-report";
const SERVED = fileURLToPath(new URL(".", import.meta.url));
const TIMELINE_WIDTH = 28;

async function demo(out: Terminal): Promise<number> {
  const interruption = interrupted();
  const home = mkdtempSync(join(tmpdir(), "millrace-demo-"));
  try {
    const loaded = loadConfig({ home, host: "127.0.0.1", port: "0", open: false }, {}, SERVED);
    const server = await startServer(loaded, SERVED);
    const shown = show(new Millrace({ url: server.url }), server.url, out);
    // After an interrupt the errors of interrupted requests do not matter: the server is expected to be gone.
    shown.catch(() => {});
    try {
      return await Promise.race([shown, interruption]);
    } finally {
      await server.stop();
      await server.stopped;
    }
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Resolves with the exit code for the shell when the demo is signalled to end. */
function interrupted(): Promise<number> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve(130)).once("SIGTERM", () => resolve(143));
  });
}

async function show(client: Millrace, url: string, out: Terminal): Promise<number> {
  out.line();
  out.line(`${out.paint("bold", "Millrace demo")}  ${out.paint("dim", `a server at ${url} on a temporary home`)}`);
  const flow = (await client.flows.list()).find((known) => known.name === FLOW);
  if (flow === undefined) throw new Error(`the flow ${FLOW} was not found in ${SERVED}`);
  const run = await client.flows.run(flow.id);
  section(out, `Run ${run.id}, ${printable(run.name)}: the flow ${flow.name} of ${flow.module}`);
  const ended = await new RunFollower(client, run.id, { log: out, progress: out }).untilEnd();
  const [tasks, artifacts] = await Promise.all([client.runs.tasks(run.id), client.runs.artifacts(run.id)]);
  section(out, counted(tasks.length, "task"));
  for (const line of taskLines(ended, tasks, out)) out.line(line);
  if (ended.state.type !== "Completed") {
    out.line();
    out.line(out.paint("red", `${stateText(ended.state)}: ${printable(ended.state.message ?? "no reason was given")}`));
    return 1;
  }
  section(out, "The report the run published");
  for (const line of reportLines(artifacts, out)) out.line(line);
  section(out, counted(artifacts.length, "artifact"));
  for (const line of artifactLines(artifacts, out)) out.line(line);
  out.line();
  const took = ended.total_run_time === null ? "" : ` after ${duration(ended.total_run_time)}`;
  out.line(`${out.paint(["bold", "green"], stateText(ended.state))}${took}.`);
  for (const line of nextSteps(out)) out.line(line);
  return 0;
}

function section(out: Terminal, title: string): void {
  out.line();
  out.line(out.paint("bold", title));
  out.line(out.paint("dim", "\u2500".repeat(Math.min(title.length, 76))));
}

/** Duration and position in time of each task: bars that overlap ran concurrently. */
function taskLines(run: Run, tasks: readonly TaskRun[], out: Terminal): string[] {
  const startUs = run.start_time ?? run.created_at;
  const endUs = Math.max(startUs + 1, run.end_time ?? 0, ...tasks.map((task) => task.end_time ?? 0));
  const columns = (us: number) => (us / (endUs - startUs)) * TIMELINE_WIDTH;
  const timeline = (task: TaskRun) => {
    if (task.start_time === null) return "";
    const from = Math.min(TIMELINE_WIDTH - 1, Math.max(0, Math.floor(columns(task.start_time - startUs))));
    const width = Math.max(1, Math.round(columns((task.end_time ?? endUs) - task.start_time)));
    return " ".repeat(from) + "\u2588".repeat(width);
  };
  return renderTable(
    [
      { head: "TASK", cell: (task) => printable(task.name) },
      { head: "STATE", cell: (task) => stateText(task.state), style: (task) => stateLook(task.state).style },
      {
        head: "STARTED",
        cell: (task) => (task.start_time === null ? "" : `+${duration(Math.max(0, task.start_time - startUs))}`),
        align: "right",
      },
      { head: "DURATION", cell: (task) => (task.total_run_time === null ? "" : duration(task.total_run_time)), align: "right" },
      { head: "TIMELINE", cell: timeline, style: () => "cyan" },
    ],
    tasks,
    out,
  );
}

function reportLines(artifacts: readonly ArtifactRow[], out: Terminal): string[] {
  const report = artifacts.find((artifact) => artifact.key === "report");
  const text = typeof report?.data["text"] === "string" ? report.data["text"] : "";
  return printable(text)
    .trimEnd()
    .split("\n")
    .map((line) => {
      if (line.startsWith("#")) return out.paint(["bold", "cyan"], line);
      return line.replace(/\*\*(.+?)\*\*/g, (marked, words: string) => (out.colours ? out.paint("bold", words) : marked));
    });
}

function artifactLines(artifacts: readonly ArtifactRow[], out: Terminal): string[] {
  const about = ({ kind, data }: ArtifactRow) => {
    if (kind === "table" && Array.isArray(data["rows"])) return counted(data["rows"].length, "row");
    if (kind === "image" && typeof data["src"] === "string") return `SVG, ${(data["src"].length / 1024).toFixed(1)} kB`;
    if (kind === "progress") return `${data["value"]} %, ${data["label"]}`;
    return kind === "markdown" && typeof data["text"] === "string" ? counted(data["text"].split("\n").length, "line") : "";
  };
  return renderTable(
    [
      { head: "KIND", cell: (artifact) => artifact.kind },
      { head: "KEY", cell: (artifact) => printable(artifact.key ?? "") },
      { head: "TITLE", cell: (artifact) => printable(String(artifact.data["title"] ?? "")), shrink: true },
      { head: "HOLDS", cell: (artifact) => printable(about(artifact)) },
    ],
    artifacts,
    out,
  );
}

function nextSteps(out: Terminal): string[] {
  const here = relative(process.cwd(), SERVED).replace(/\/$/, "") || ".";
  const steps: [string, string][] = [
    ["Serve these flows and keep the history:", `npm run millrace -- serve ${here}`],
    [
      "Then open the address it prints, or run one from a second terminal:",
      `npm run millrace -- run ${join(here, "weather.ts")}:${FLOW} -p flights=5k`,
    ],
    ["Read how the flow is written:", join(here, "weather.ts")],
  ];
  return [
    "",
    out.paint("bold", "Next"),
    ...steps.flatMap(([text, command]) => [`  ${text}`, `    ${out.paint("cyan", command)}`]),
    "",
  ];
}

// Discovery imports every flow file of this directory; this file runs only as a program of its own.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const errors = new Terminal(process.stderr);
  try {
    process.exitCode = await demo(new Terminal(process.stdout));
  } catch (error) {
    errors.line(`${errors.paint("red", "The demo could not run:")} ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
  process.exit();
}
