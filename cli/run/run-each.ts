/** `millrace run FLOW --each FILE`: one run for each line of a file; the line's JSON object is the parameters. */

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { RUN_BATCH_BYTES_MAX, RUN_BATCH_RUNS_MAX } from "#protocol/limits";
import type { RunDefaults } from "#protocol/records/run-batch";
import { parseJson } from "#protocol/values/json";
import { type CreatedRun, type Millrace, MillraceError } from "#sdk/client/index";
import { commandError } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { counted } from "../terminal/format.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { printable, Terminal } from "../terminal/terminal.ts";

const STANDARD_INPUT = "-";
/** Room in a batch besides its runs and what they have in common. */
const REST_BYTES = 1_024;
/** JSON around the parameters of a run. */
const AROUND_BYTES = '{"parameters":},'.length;

/** A line that is not empty. */
export interface Line {
  /** From 1. */
  number: number;
  parameters: Record<string, unknown>;
}

export interface EachOptions {
  quiet?: boolean;
  json?: boolean;
}

/** Reads all lines before anything is created, so that a malformed line creates nothing. `-` is the standard input. */
export async function readLines(file: string): Promise<Line[]> {
  const input = file === STANDARD_INPUT ? process.stdin : createReadStream(file);
  const lines: Line[] = [];
  let number = 0;
  try {
    for await (const text of textLines(input)) {
      number += 1;
      const trimmed = text.trim();
      if (trimmed !== "") lines.push({ number, parameters: parametersOf(trimmed, number, file) });
    }
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${nameOf(file)} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return lines;
}

/** The lines of a stream. An error of the stream fails the loop, which readline alone would not report. */
async function* textLines(input: NodeJS.ReadableStream): AsyncGenerator<string> {
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  input.once("error", (error) => {
    failed.reject(error);
    lines.close();
  });
  const iterator = lines[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), failed.promise]);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    lines.close();
  }
}

function parametersOf(text: string, number: number, file: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(`line ${number} of ${nameOf(file)} is not JSON: ${printable(why)}`, NOTHING_CREATED);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new CommandError(`line ${number} of ${nameOf(file)} is not an object of parameters`, NOTHING_CREATED);
}

const NOTHING_CREATED = 'No run was created. Each line is the parameters of one run, for example {"day": "2026-01-01"}.';

function nameOf(file: string): string {
  return file === STANDARD_INPUT ? "the standard input" : printable(file);
}

/** The lines of each request: as many as one batch may hold, by number and by bytes. */
export function batchesOf(lines: readonly Line[], defaults: RunDefaults): Line[][] {
  const bytesMax = RUN_BATCH_BYTES_MAX - REST_BYTES - Buffer.byteLength(JSON.stringify(defaults));
  const batches: Line[][] = [];
  let bytes = 0;
  for (const line of lines) {
    const more = AROUND_BYTES + Buffer.byteLength(JSON.stringify(line.parameters));
    const newest = batches.at(-1);
    if (newest === undefined || newest.length === RUN_BATCH_RUNS_MAX || bytes + more > bytesMax) {
      batches.push([line]);
      bytes = more;
    } else {
      newest.push(line);
      bytes += more;
    }
  }
  return batches;
}

/** Creates the runs, batch after batch, and prints how many were created. Ctrl-C ends the command after the current batch. */
export async function createEach(
  client: Millrace,
  defaults: RunDefaults,
  lines: readonly Line[],
  options: EachOptions,
): Promise<number> {
  const out = new Terminal(process.stdout);
  const progress = new ProgressLine(out);
  const created: CreatedRun[] = [];
  const interrupt = onInterrupt();
  if (options.quiet !== true && options.json !== true)
    progress.show(() => `${created.length.toLocaleString("en-US")} of ${counted(lines.length, "run")} created`);
  const batches = batchesOf(lines, defaults);
  let sent = 0;
  try {
    for (const batch of batches) {
      if (interrupt.happened) break;
      const runs = batch.map(({ parameters }) => ({ parameters }));
      created.push(...(await send(client, runs, defaults, batch, created.length)));
      sent += 1;
    }
  } finally {
    interrupt.ignore();
    progress.end();
    if (options.json === true) out.json({ created: created.length, runs: created });
  }
  if (options.quiet !== true && options.json !== true) out.line(summary(created.length, lines.length, sent, defaults));
  return created.length === lines.length && lines.length > 0 ? EXIT.ok : EXIT.otherEnd;
}

async function send(
  client: Millrace,
  runs: { parameters: Record<string, unknown> }[],
  defaults: RunDefaults,
  batch: readonly Line[],
  before: number,
): Promise<CreatedRun[]> {
  try {
    return await client.runs.createMany(runs, { defaults });
  } catch (error) {
    if (error instanceof MillraceError) throw failure(error, batch, before);
    throw error;
  }
}

/** The failure of a batch, with the line that caused it and what became of the others. */
function failure(error: MillraceError, batch: readonly Line[], before: number): CommandError {
  const [first, last] = [batch[0]?.number, batch.at(-1)?.number];
  const earlier =
    before === 0 ? "No run was created." : `${counted(before, "run")} of the lines before line ${first} were created.`;
  // Without an answer, the batch may have been created.
  const rest = error.reason === "refused" ? `None of lines ${first} to ${last} was.` : `Lines ${first} to ${last} may have been.`;
  const outcome = before === 0 && error.reason === "refused" ? earlier : `${earlier} ${rest}`;
  const { index } = (error.body ?? {}) as { index?: number };
  if (index === undefined) {
    const { message, advice } = commandError(error);
    return new CommandError(message, advice === null ? outcome : `${outcome} ${advice}`);
  }
  const why = error.message.replace(/^runs\[\d+\]: /, "");
  return new CommandError(`line ${batch[index]?.number}: ${printable(why)}`, outcome);
}

function summary(created: number, wanted: number, batches: number, { project, flow }: RunDefaults): string {
  const missing = created === wanted ? "" : `; ${counted(wanted - created, "line")} left`;
  const [runs, requests] = [counted(created, "run"), counted(batches, "batch", "batches")];
  return `Created ${runs} of ${printable(`${project}/${flow}`)} in ${requests}${missing}`;
}

/** The first signal is noted, the second ends the process. */
function onInterrupt(): { readonly happened: boolean; ignore(): void } {
  let happened = false;
  const handler = () => {
    if (happened) process.exit(EXIT.otherEnd);
    happened = true;
  };
  process.on("SIGINT", handler).on("SIGTERM", handler);
  return {
    get happened() {
      return happened;
    },
    ignore: () => void process.off("SIGINT", handler).off("SIGTERM", handler),
  };
}
