/** What wants a person, most urgent first. */
import type { Event } from "#protocol/event";
import type { FlowSummary } from "#protocol/flow";
import type { Queue } from "#protocol/queue";
import type { Run } from "#protocol/run";
import { roughDuration } from "../../format/duration.ts";
import { nowUs } from "../../format/now.ts";
import { counted, listed } from "../../format/number.ts";
import { failuresInARow, RESULTS } from "../../records/flows.ts";
import { waitingById } from "../../records/queue.ts";
import { firstLine, whyOf } from "../../records/why.ts";

export interface Need {
  id: string;
  /** Name of the glyph; `hue` is the state that gives the colour. */
  glyph: string;
  hue: string;
  what: string;
  name: string;
  why: string;
  /** Since when, microseconds; null when unknown. */
  since: number | null;
  action: string;
  href: string;
  /** The run whose message says why. */
  run?: number;
}

export interface Sources {
  flows: readonly FlowSummary[];
  late: readonly Run[];
  paused: readonly Run[];
  lapsed: readonly Event[];
  queue: Queue | null;
}

export function collectNeeds({ flows, late, paused, lapsed, queue }: Sources): Need[] {
  return [
    ...flows.filter((flow) => failuresInARow(flow) > 0).map(failing),
    ...late.map((run) => lateRun(run, queue)),
    ...paused.map(pausedRun),
    ...lapsed.map(lapsedExpectation),
    ...(queue?.resources ?? []).filter(({ used, total, waiting }) => used >= total && waiting > 0).map(fullResource),
    ...flows.filter(({ error }) => error !== null).map(flowInError),
  ];
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

/** One sentence of health: what is wrong, or that nothing is. */
export function healthSentence(sources: Sources, late: number, paused: number): string {
  const failingFlows = sources.flows.filter((flow) => failuresInARow(flow) > 0).length;
  const broken = sources.flows.filter(({ error }) => error !== null).length;
  const full = (sources.queue?.resources ?? []).filter(({ used, total, waiting }) => used >= total && waiting > 0).length;
  const say = (number: number, one: string, verbs: readonly [string, string], many?: string) =>
    number === 0 ? [] : [`${counted(number, one, many)} ${number === 1 ? verbs[0] : verbs[1]}`];
  const parts = [
    ...say(failingFlows, "flow", ["is failing", "are failing"]),
    ...say(late, "run", ["is late", "are late"]),
    ...say(paused, "run", ["waits for your answer", "wait for your answer"]),
    ...say(sources.lapsed.length, "expectation", ["lapsed", "lapsed"]),
    ...say(full, "resource", ["is full", "are full"]),
    ...say(broken, "flow", ["does not load", "do not load"]),
  ];
  return parts.length === 0 ? "Nothing needs you." : `${parts.slice(0, 3).join(", ")}.`;
}
