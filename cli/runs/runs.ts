/** `millrace runs ls`, in the order of the dashboard: fires that are kept in advance do not stand before what has run. */

import { isTerminal, STATE_TYPES, SUB_STATES } from "#protocol/records/state";
import type { Millrace, Run } from "#sdk/client/index";
import { connect } from "../connection.ts";
import { CommandError } from "../exit-code.ts";
import { flowsNamed, splitPair } from "../run/flow-target.ts";
import { dateTime, duration, stateLook, stateText } from "../terminal/format.ts";
import { renderTable } from "../terminal/table.ts";
import { printable, type Terminal } from "../terminal/terminal.ts";
import { show, type ViewOptions } from "../terminal/view.ts";

export interface RunListOptions extends ViewOptions {
  flow?: string;
  project?: string;
  state?: string;
  param?: string[];
  limit: string;
}

const SUB_STATE_NAMES = Object.keys(SUB_STATES);

/** The server's maximum per page. */
export const PAGE_MAX = 500;

export async function listRuns(options: RunListOptions): Promise<number> {
  const limit = positive("--limit", options.limit);
  const { flow, project, param = [] } = options;
  const parameters = param.length === 0 ? undefined : Object.fromEntries(param.map(splitPair));
  const client = connect(options);
  const flows = flow === undefined ? [] : await flowsNamed(client, flow, project);
  const flow_id = flows.length === 1 ? flows[0]?.id : undefined;
  const filter = { flow, project, parameters, ...(await stateFilter(client, options.state)) };
  const filtered = Object.values(filter).some((value) => value !== undefined);
  return await show(client, options, {
    read: () => client.runs.list({ ...filter, sort: "activity" }, { pageSize: Math.min(limit, PAGE_MAX) }).first(limit),
    lines(runs, out) {
      if (runs.length > 0) return renderRuns(runs, out);
      return out.live ? [filtered ? "No run matches." : "There are no runs yet."] : [];
    },
    messages: {
      project,
      flow_id,
      parameters,
      kinds: parameters === undefined ? ["run.updated", "backfill.created"] : ["run.updated"],
    },
    changedBy: ({ event }) => event === "run.updated" || event === "backfill.created",
  });
}

export function renderRuns(runs: readonly Run[], terminal: Terminal): string[] {
  return renderTable(
    [
      { head: "ID", cell: (run) => String(run.id), align: "right" },
      { head: "STATE", cell: (run) => stateText(run.state), style: (run) => stateLook(run.state).style },
      { head: "FLOW", cell: (run) => printable(`${run.project}/${run.flow_name}`), shrink: true },
      { head: "NAME", cell: (run) => printable(run.name), shrink: true },
      { head: "STARTED", cell: (run) => startText(run) },
      { head: "DURATION", cell: (run) => durationOf(run), align: "right" },
    ],
    runs,
    terminal,
  );
}

/** A run that ended without a start, such as one of a skipped fire, never starts. */
export function startText({ start_time, state }: Pick<Run, "start_time" | "state">): string {
  if (start_time !== null) return dateTime(start_time);
  return isTerminal(state.type) ? "never" : "not yet";
}

/** Duration of the run so far, or in total. */
export function durationOf(run: Pick<Run, "start_time" | "end_time" | "total_run_time">): string {
  if (run.total_run_time !== null) return duration(run.total_run_time);
  return run.start_time === null || run.end_time !== null ? "" : duration(Date.now() * 1000 - run.start_time);
}

/**
 * A type or sub-state of the catalogue in any case. Engines may define state names, so another name is accepted if a run has
 * it.
 * @throws CommandError for any other name.
 */
export async function stateFilter(
  client: Pick<Millrace, "runs">,
  state: string | undefined,
): Promise<{ state_type?: string; state_name?: string }> {
  if (state === undefined) return {};
  const folded = (names: readonly string[]) => names.find((name) => name.toLowerCase() === state.toLowerCase());
  const type = folded(STATE_TYPES);
  if (type !== undefined) return { state_type: type };
  const name = folded(SUB_STATE_NAMES);
  if (name !== undefined) return { state_name: name };
  const [run] = await client.runs.list({ state_name: state }, { pageSize: 1 }).first(1);
  if (run !== undefined) return { state_name: state };
  throw new CommandError(`there is no state "${state}"`, `Known: ${[...STATE_TYPES, ...SUB_STATE_NAMES].join(", ")}.`);
}

/** A whole number above zero. */
export function positive(name: string, text: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : 0;
  if (!Number.isSafeInteger(value) || value < 1)
    throw new CommandError(`${name} must be a whole number above zero, not "${text}"`);
  return value;
}
