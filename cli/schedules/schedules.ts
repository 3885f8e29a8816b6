/** `millrace schedules`: list, preview, pause, resume and skip. */
import type { ScheduleBody } from "#protocol/records/schedule";
import type { Millrace, ScheduleRow, StreamMessage } from "#sdk/client/index";
import { parseDuration } from "#sdk/define/duration";
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { flowsNamed } from "../run/flow-target.ts";
import { positive } from "../runs/runs.ts";
import { dateTime } from "../terminal/format.ts";
import { showResult } from "../terminal/show-result.ts";
import { renderTable } from "../terminal/table.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { timeOf } from "../terminal/value.ts";
import { show, type ViewOptions } from "../terminal/view.ts";

export interface ScheduleListOptions extends ViewOptions {
  flow?: string;
  project?: string;
}

interface ListedSchedule extends ScheduleRow {
  flow: string;
  project: string;
}

export async function listSchedules(options: ScheduleListOptions): Promise<number> {
  const client = connect(options);
  const { flow, project } = options;
  return await show(client, options, {
    async read() {
      const wanted = await (flow === undefined ? client.flows.list({ project }) : flowsNamed(client, flow, project));
      return wanted.flatMap(({ name, project, schedules }) =>
        schedules.map((schedule): ListedSchedule => ({ ...schedule, flow: name, project })),
      );
    },
    lines(rows, out) {
      if (rows.length > 0) return renderSchedules(rows, out);
      return out.live ? [options.flow === undefined ? "There are no schedules." : "No schedule matches."] : [];
    },
    messages: { kinds: ["schedule.updated", "flow.registered"] },
    changedBy: ({ event }: StreamMessage) => event === "schedule.updated" || event === "flow.registered",
  });
}

function renderSchedules(rows: readonly ListedSchedule[], terminal: Terminal): string[] {
  return renderTable(
    [
      { head: "ID", cell: (row) => String(row.id), align: "right" },
      { head: "FLOW", cell: (row) => printable(`${row.project}/${row.flow}`), shrink: true },
      { head: "KEY", cell: (row) => printable(row.code_key ?? ""), shrink: true },
      { head: "SCHEDULE", cell: (row) => printable(specText(row.schedule)), shrink: true },
      { head: "ZONE", cell: (row) => row.schedule.timezone ?? "" },
      { head: "NEXT", cell: (row) => nextText(row) },
      { head: "SKIPPED", cell: (row) => (row.skipped === 0 ? "" : String(row.skipped)), align: "right" },
    ],
    rows,
    terminal,
  );
}

export function specText(schedule: ScheduleRow["schedule"]): string {
  switch (schedule.kind) {
    case "cron":
      return schedule.cron;
    case "interval":
      return `every ${intervalText(schedule.interval)}`;
    case "rrule":
      return schedule.rrule.replace(/\s+/g, " ");
  }
}

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** As it is written in code: 6h, not 21600 s. */
function intervalText(seconds: number): string {
  const [unit, size] = UNITS.find(([, size]) => seconds % size === 0) ?? ["s", 1];
  return `${seconds / size}${unit}`;
}

/** In the zone shown beside it; without one, in that of this machine. */
export function nextText({ active, paused_reason, next_fire, schedule }: ScheduleRow): string {
  if (!active) return paused_reason ?? "inactive";
  if (next_fire === null) return "never";
  return schedule.timezone == null ? dateTime(next_fire) : timeInZone(next_fire, schedule.timezone);
}

export interface PreviewOptions extends ConnectionOptions {
  cron?: string;
  every?: string;
  rrule?: string;
  timezone?: string;
  count: string;
}

export async function previewSchedule(options: PreviewOptions): Promise<number> {
  const preview = await connect(options).schedules.preview({
    ...specOf(options),
    timezone: options.timezone ?? null,
    count: positive("--count", options.count),
  });
  const out = new Terminal(process.stdout);
  if (options.json === true) {
    out.json(preview);
    return EXIT.ok;
  }
  for (const fire of preview.next) out.line(`${timeInZone(fire, preview.timezone)}  ${preview.timezone}`);
  if (preview.next.length === 0) out.line("It never fires.");
  return EXIT.ok;
}

export function specOf({ cron, every, rrule }: Pick<PreviewOptions, "cron" | "every" | "rrule">): ScheduleBody {
  if ([cron, every, rrule].filter((given) => given !== undefined).length !== 1) {
    throw new CommandError("name one schedule", "Pass one of --cron, --every and --rrule.");
  }
  if (cron !== undefined) return { kind: "cron", cron };
  if (rrule !== undefined) return { kind: "rrule", rrule: rrule.replaceAll("\\n", "\n") };
  try {
    return { kind: "interval", interval: parseDuration(every ?? "") };
  } catch (error) {
    throw new CommandError(error instanceof Error ? error.message : String(error));
  }
}

function timeInZone(us: number, timezone: string): string {
  return new Date(us / 1000).toLocaleString("sv-SE", { timeZone: timezone });
}

/** For a sentence, where no column shows the zone. */
function fireText(us: number, timezone: string | null | undefined): string {
  return timezone == null ? dateTime(us) : `${timeInZone(us, timezone)} ${timezone}`;
}

export function nextSentence(row: ScheduleRow): string {
  const next = row.active && row.next_fire !== null ? fireText(row.next_fire, row.schedule.timezone) : nextText(row);
  return `Schedule ${row.id} runs next ${next}.`;
}

export async function pauseSchedule(id: string, options: ConnectionOptions): Promise<number> {
  const row = await connect(options).schedules.pause(positive("id", id));
  return showResult(options, row, `Schedule ${row.id} is paused.`);
}

export async function resumeSchedule(id: string, options: ConnectionOptions): Promise<number> {
  const row = await connect(options).schedules.resume(positive("id", id));
  return showResult(options, row, nextSentence(row));
}

export interface SkipOptions extends ConnectionOptions {
  next?: string;
  undo?: string;
}

/** `FIRES`: times as ISO texts, or microseconds as in the upcoming list. */
export async function skipFires(id: string, fires: readonly string[], options: SkipOptions): Promise<number> {
  const client = connect(options);
  const schedule = positive("id", id);
  if (options.undo !== undefined) return await undoSkip(client, schedule, options.undo, options);
  const asked = options.next === undefined ? { fires: fires.map(timeOf) } : { next: positive("--next", options.next) };
  const answer = await client.schedules.skip(schedule, asked);
  const known = (await client.flows.list()).flatMap(({ schedules }) => schedules).find((row) => row.id === schedule);
  const times = answer.skipped.map((fire) => fireText(fire, known?.schedule.timezone)).join(", ");
  const also = answer.downstream.map(({ flow }) => flow).join(", ");
  return showResult(options, answer, `Skipped ${times}${also === "" ? "" : `, and with it runs of ${also}`}.`);
}

async function undoSkip(client: Millrace, schedule: number, fire: string, options: ConnectionOptions): Promise<number> {
  const row = await client.schedules.undoSkip(schedule, timeOf(fire));
  return showResult(options, row, nextSentence(row));
}
