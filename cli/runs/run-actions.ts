/** `millrace runs retry | cancel | pause | resume | wake | rm`: actions on runs. */

import { isTerminal, STATE_TYPES } from "#protocol/records/state";
import { hasEnded, type Millrace, type Run } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { follow } from "../run/run.ts";
import { stateText } from "../terminal/format.ts";
import { messageOf } from "../terminal/outcome-lines.ts";
import { showResult } from "../terminal/show-result.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { PAGE_MAX, positive, stateFilter } from "./runs.ts";

export interface RetryOptions extends ConnectionOptions {
  from?: string;
  follow?: boolean;
}

export async function retryRun(idText: string, options: RetryOptions): Promise<number> {
  const client = connect(options);
  const created = await client.runs.retry(positive("the id of a run", idText), { from: options.from });
  if (options.follow === true) return await follow(client, created, options);
  return showResult(options, created, `Run ${created.id} (${printable(created.name)}) runs ${idText} again.`);
}

const UNENDED = STATE_TYPES.filter((type) => !isTerminal(type));

export interface CancelOptions extends ConnectionOptions {
  flow?: string;
  project?: string;
  state?: string;
}

/** Cancels the given runs, or all matching runs that have not ended. */
export async function cancelRuns(texts: readonly string[], options: CancelOptions): Promise<number> {
  const client = connect(options);
  const ids = await runsToCancel(client, texts, options);
  const cancelled: Run[] = [];
  const out = new Terminal(process.stdout);
  for (const id of ids) {
    const run = await client.runs.cancel(id);
    cancelled.push(run);
    if (options.json !== true) out.line(cancelText(run));
  }
  if (options.json === true) out.json(cancelled);
  else if (ids.length === 0) out.line("No run that has not ended matches.");
  return EXIT.ok;
}

async function runsToCancel(client: Millrace, texts: readonly string[], options: CancelOptions): Promise<number[]> {
  const { flow, project, state } = options;
  const filtered = [flow, project, state].some((value) => value !== undefined);
  if (filtered === texts.length > 0) {
    throw new CommandError("name runs, or filters", "Write: millrace runs cancel ID..., or: millrace runs cancel --flow NAME.");
  }
  if (!filtered) return texts.map((text) => positive("the id of a run", text));
  const states = state === undefined ? { states: UNENDED } : await stateFilter(client, state);
  const filter = { flow, project, ...states };
  const found: number[] = [];
  for await (const run of client.runs.list(filter, { pageSize: PAGE_MAX })) if (!hasEnded(run)) found.push(run.id);
  return found;
}

function cancelText(run: Run): string {
  if (run.state.type === "Cancelled") return `Run ${run.id} is cancelled.`;
  if (hasEnded(run)) return `Run ${run.id} had ended before: ${stateText(run.state)}`;
  return `Run ${run.id} is asked to stop.`;
}

/** A run paused by hand releases its engine; its work is repeated after the resume. */
export async function pauseRun(idText: string, options: ConnectionOptions): Promise<number> {
  const id = positive("the id of a run", idText);
  const client = connect(options);
  const { state } = await client.runs.get(id);
  if (state.type !== "Running") {
    throw new CommandError(`run ${id} is ${state.name}`, "Only a Running run can be paused; any other can be cancelled.");
  }
  const run = await client.runs.transition(id, { type: "Paused", message: "paused by hand" });
  return showResult(options, run, `Run ${id} is paused. It goes on, from its start, with: millrace runs resume ${id}`);
}

export async function resumeRun(idText: string, options: ConnectionOptions): Promise<number> {
  const id = positive("the id of a run", idText);
  const client = connect(options);
  const { state } = await client.runs.get(id);
  if (state.type !== "Paused") throw new CommandError(`run ${id} is ${state.name}, not Paused`);
  if (state.details?.["prompt"] !== undefined) {
    const asked = printable(messageOf(state) ?? "").replace(/\n[\s\S]*/, "");
    throw new CommandError(`run ${id} waits for an answer: ${asked}`, `Give it: millrace runs input ${id} ANSWER`);
  }
  const run = await client.runs.transition(id, { type: "Scheduled", name: "Resuming" });
  return showResult(options, run, `Run ${id} goes on.`);
}

/** Queues a sleeping run, or one that waits for its next attempt, before its time. */
export async function wakeRun(idText: string, options: ConnectionOptions): Promise<number> {
  const id = positive("the id of a run", idText);
  const run = await connect(options).runs.wake(id);
  return showResult(options, run, `Run ${id} goes on.`);
}

export interface RemoveOptions extends ConnectionOptions {
  force?: boolean;
}

export async function removeRuns(ids: readonly string[], options: RemoveOptions): Promise<number> {
  const client = connect(options);
  const out = new Terminal(process.stdout);
  const removed: number[] = [];
  for (const id of ids.map((text) => positive("the id of a run", text))) {
    if (options.force !== true) await checkEnded(client, id);
    await client.runs.delete(id);
    removed.push(id);
    if (options.json !== true) out.line(`Run ${id} is removed.`);
  }
  if (options.json === true) out.json(removed.map((id) => ({ id, deleted: true })));
  return EXIT.ok;
}

async function checkEnded(client: Millrace, id: number): Promise<void> {
  const run = await client.runs.get(id);
  if (hasEnded(run)) return;
  throw new CommandError(`run ${id} is ${run.state.name}`, "Cancel it first, or pass --force to end and remove it.");
}
