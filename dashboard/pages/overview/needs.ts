/** Problems and questions that need a person, most urgent first. */
import type { Event } from "#protocol/records/event";
import type { FlowSummary } from "#protocol/records/flow";
import type { Queue } from "#protocol/records/queue";
import type { Run } from "#protocol/records/run";
import type { CodeProblem } from "#protocol/records/server";
import type { Stats } from "#protocol/records/stats";
import { roughDuration } from "../../format/duration.ts";
import { nowUs } from "../../format/now.ts";
import { count, counted, listed } from "../../format/number.ts";
import { failuresInARow, RESULTS } from "../../records/flows.ts";
import { waitingById } from "../../records/queue.ts";
import { firstLine, whyOf } from "../../records/why.ts";

export interface Need {
  id: string;
  /** Name of the glyph; `hue` is the state whose colour is used. */
  glyph: string;
  hue: string;
  what: string;
  name: string;
  why: string;
  /** Start of the problem, microseconds; null if unknown. */
  since: number | null;
  action: string;
  href: string;
  /** The run whose message gives the reason. */
  run?: number;
}

/** At least this many failures of a flow within the period, and this share of its ended runs, are more than chance. */
const OFTEN_MIN = 3;
const OFTEN_SHARE = 0.1;
/** Whole hours of the clock: the current one and the one before. */
export const RATE_HOURS = 2;

export interface Sources {
  flows: readonly FlowSummary[];
  late: readonly Run[];
  paused: readonly Run[];
  lapsed: readonly Event[];
  queue: Queue | null;
  problems: readonly CodeProblem[];
  /** Runs that ended within the last RATE_HOURS, by flow. */
  ended: Stats["flows"];
}

/** The entries by kind. */
function kindsOf({ flows, queue, problems, ended }: Sources) {
  const inError = flows.filter(({ error }) => error !== null);
  const wrongSchedules = flows.filter(({ error, schedule_error }) => error === null && schedule_error !== null);
  const saySo = new Set([...inError, ...wrongSchedules].map(({ module }) => module));
  const inARow = flows.filter((flow) => failuresInARow(flow) > 1);
  const often = ended.filter((flow) => failsOften(flow) && !inARow.some(({ id }) => id === flow.flow_id));
  return {
    inError,
    wrongSchedules,
    inARow,
    often,
    failedOnce: flows.filter((flow) => failuresInARow(flow) === 1 && !often.some(({ flow_id }) => flow_id === flow.id)),
    // Flows of a file show the file's error themselves.
    files: problems.filter(({ kind, module }) => kind !== "warning" && !saySo.has(module)),
    full: (queue?.resources ?? []).filter(({ used, total, waiting }) => used >= total && waiting > 0),
  };
}

/**
 * Order: a question holds up a person's work, and a file that does not load holds up a flow; then late and repeatedly failing
 * runs; last a single failure.
 */
export function collectNeeds(sources: Sources): Need[] {
  const { late, paused, lapsed, queue } = sources;
  const { inError, inARow, often, failedOnce, wrongSchedules, files, full } = kindsOf(sources);
  const oldest = (a: Run, b: Run) => (a.scheduled_time ?? a.created_at) - (b.scheduled_time ?? b.created_at);
  const newest = (a: FlowSummary, b: FlowSummary) => latestRun(b) - latestRun(a);
  return [
    ...paused.toSorted((a, b) => a.state.timestamp - b.state.timestamp).map(pausedRun),
    ...files.map(fileInError),
    ...inError.map(flowInError),
    ...late.toSorted(oldest).map((run) => lateRun(run, queue)),
    ...lapsed.map(lapsedExpectation),
    ...wrongSchedules.map(wrongSchedule),
    ...inARow.toSorted((a, b) => failuresInARow(b) - failuresInARow(a) || newest(a, b)).map(failing),
    ...often.toSorted((a, b) => wrongOf(b) - wrongOf(a)).map(failsOftenNeed),
    ...full.map(fullResource),
    ...failedOnce.toSorted(newest).map(failing),
  ];
}

function latestRun({ results = [] }: FlowSummary): number {
  return results[0]?.[0] ?? 0;
}

type Ended = Stats["flows"][number];

function wrongOf({ states }: Ended): number {
  return (states["Failed"] ?? 0) + (states["Crashed"] ?? 0);
}

function allOf({ states }: Ended): number {
  return Object.values(states).reduce((sum, part) => sum + part, 0);
}

/** True for a flow with many failures, whatever the result of its latest run. */
function failsOften(flow: Ended): boolean {
  return wrongOf(flow) >= OFTEN_MIN && wrongOf(flow) >= OFTEN_SHARE * allOf(flow);
}

function failsOftenNeed(flow: Ended): Need {
  const [wrong, all] = [wrongOf(flow), allOf(flow)];
  return {
    ...{ id: `often ${flow.flow_id}`, glyph: "failed", hue: "failed", what: `Fails often, ${Math.round((wrong / all) * 100)} %` },
    ...{
      name: `${flow.project} / ${flow.flow}`,
      why: `${count(wrong)} of ${counted(all, "run")} went wrong in the last two hours`,
    },
    ...{ since: null, action: "Show failures", href: `/runs?flow_id=${flow.flow_id}&states=Failed,Crashed` },
  };
}

function fileInError({ module, kind, error }: CodeProblem): Need {
  const what = kind === "file" ? "File does not load" : "File is used only in part";
  return {
    ...{ id: `file ${module} ${error}`, glyph: "flow-error", hue: "failed", what, name: module, why: firstLine(error) },
    ...{ since: null, action: "Open flows", href: "/flows" },
  };
}

function failing(flow: FlowSummary): Need {
  const times = failuresInARow(flow);
  const run = flow.results?.[0]?.[0] ?? 0;
  const said = times === 1 ? "Failed" : `Failed ${times}${times === RESULTS ? " or more" : ""} times in a row`;
  return {
    ...{
      id: `flow ${flow.id}`,
      glyph: "failed",
      hue: "failed",
      what: said,
      name: `${flow.project} / ${flow.name}`,
      why: "",
      run,
    },
    ...{ since: null, action: "Open the error", href: `/runs/${run}` },
  };
}

function lateRun(run: Run, queue: Queue | null): Need {
  const why = whyOf(run, { waiting: waitingById(queue), resources: queue?.resources ?? [], typical: null });
  const since = run.scheduled_time ?? run.created_at;
  return {
    ...{ id: `late ${run.id}`, glyph: "late", hue: "late", what: `${roughDuration(nowUs() - since)} late`, since },
    ...{
      name: `${run.project} / ${run.flow_name}`,
      why: why.replace(/^[^;]* late; /, ""),
      action: "Show why",
      href: `/runs/${run.id}`,
    },
  };
}

function pausedRun(run: Run): Need {
  return {
    ...{ id: `paused ${run.id}`, glyph: "paused", hue: "paused", what: "Paused for input", since: run.state.timestamp },
    ...{ name: `${run.project} / ${run.flow_name}`, why: `Asks: ${firstLine(run.state.message ?? "")}` },
    ...{ action: "Answer\u2026", href: `/runs/${run.id}` },
  };
}

function lapsedExpectation(event: Event): Need {
  const { rule, rule_id, flow, project, expected } = (event.payload ?? {}) as Record<string, unknown>;
  const name = typeof flow === "string" && flow !== "" ? `${project ?? ""} / ${flow}` : `rule ${rule}`;
  const missing = Array.isArray(expected) ? listed(expected.map(String)) : String(expected ?? "the event");
  return {
    ...{ id: `lapsed ${event.id}`, glyph: "lapsed", hue: "late", what: "Expectation lapsed", name, since: event.occurred },
    ...{ why: `No ${missing} in time; rule \u201c${rule}\u201d`, action: "Open rule", href: `/rules/${rule_id}` },
  };
}

function fullResource({ name, used, total, waiting, holders }: Queue["resources"][number]): Need {
  const oldest = Math.max(0, ...holders.map(({ held_secs }) => held_secs)) * 1_000_000;
  return {
    ...{ id: `full ${name}`, glyph: "full", hue: "late", what: "Resource full", name, since: null },
    ...{
      why: `${used} of ${total} taken, the longest for ${roughDuration(oldest)}; ${counted(waiting, "run")} ${waiting === 1 ? "waits" : "wait"} for it`,
    },
    ...{ action: "Show queue", href: "/queue" },
  };
}

function flowInError({ id, project, name, error, schedules }: FlowSummary): Need {
  const idle =
    schedules.length === 0
      ? ""
      : `. Its ${counted(schedules.length, "schedule")} ${schedules.length === 1 ? "fires" : "fire"} nothing`;
  return {
    ...{ id: `error ${id}`, glyph: "flow-error", hue: "failed", what: "Flow does not load", name: `${project} / ${name}` },
    ...{ why: `${firstLine(error ?? "")}${idle}`, since: null, action: "Open flow", href: `/flows/${id}` },
  };
}

function wrongSchedule({ id, project, name, schedule_error }: FlowSummary): Need {
  return {
    ...{ id: `schedule ${id}`, glyph: "late", hue: "late", what: "Wrong schedule", name: `${project} / ${name}` },
    ...{ why: `${firstLine(schedule_error ?? "")}: it does not fire`, since: null, action: "Open flow", href: `/flows/${id}` },
  };
}

/** One sentence on the server's health: the problems, the most urgent first, or that there are none. */
export function healthSentence(sources: Sources, late: number, paused: number): string {
  const { inError, inARow, often, failedOnce, wrongSchedules, files, full } = kindsOf(sources);
  const say = (number: number, one: string, verbs: readonly [string, string], many?: string) =>
    number === 0 ? [] : [`${counted(number, one, many)} ${number === 1 ? verbs[0] : verbs[1]}`];
  const parts = [
    ...say(paused, "run", ["waits for your answer", "wait for your answer"]),
    ...say(files.length, "file", ["is in error", "are in error"]),
    ...say(inError.length, "flow", ["does not load", "do not load"]),
    ...say(late, "run", ["is late", "are late"]),
    ...say(sources.lapsed.length, "expectation", ["lapsed", "lapsed"]),
    ...say(wrongSchedules.length, "flow", ["has a wrong schedule", "have a wrong schedule"]),
    ...say(inARow.length + failedOnce.length, "flow", ["is failing", "are failing"]),
    ...say(often.length, "flow", ["fails often", "fail often"]),
    ...say(full.length, "resource", ["is full", "are full"]),
  ];
  return parts.length === 0 ? "Nothing needs you." : `${parts.join(", ")}.`;
}
