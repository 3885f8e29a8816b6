/** The tools on schedules and backfills. */

import type { SCHEDULE_TOOLS } from "#protocol/mcp/mcp-schedule-tools";
import type { FlowSummary } from "#protocol/records/flow";
import type { PreviewResponse, ScheduleRow } from "#protocol/records/schedule";
import type { AskApi } from "./api-calls.ts";
import { findFlow } from "./flow-reference.ts";
import type { Handlers, ToolResult } from "./run-tools.ts";
import { ToolFailure } from "./tool-failure.ts";

const NEXT_FIRES = 3;

export const SCHEDULE_HANDLERS: Handlers<typeof SCHEDULE_TOOLS> = {
  list_schedules: async ({ ask }, { flow: reference, project }) => {
    const flows =
      reference === undefined
        ? ((await ask("listFlows", { query: { project } })) as FlowSummary[])
        : [await findFlow(ask, reference, project)];
    const listed = flows.flatMap((flow) => flow.schedules.map((schedule) => describeSchedule(flow, schedule)));
    return { schedules: listed.sort((a, b) => a.id - b.id) };
  },
  create_schedule: async ({ ask }, { flow: reference, project, key, ...body }) => {
    const { id } = await findFlow(ask, reference, project);
    const made = key === undefined ? ask("createSchedule", { id, body }) : ask("putSchedule", { id, name: key, body });
    return withNextFires(ask, await checked(made));
  },
  edit_schedule: async ({ ask }, { schedule_id: id, ...body }) =>
    withNextFires(ask, await checked(ask("patchSchedule", { id, body }))),
  delete_schedule: async ({ ask }, { schedule_id }) => {
    await ask("deleteSchedule", { id: schedule_id });
    return { deleted: true, schedule_id };
  },
  pause_schedule: async ({ ask }, { schedule_id: id }) => ({ schedule: await ask("pauseSchedule", { id }) }),
  resume_schedule: async ({ ask }, { schedule_id: id }) => ({ schedule: await ask("resumeSchedule", { id }) }),
  backfill: async ({ ask }, { flow: reference, ...body }) => {
    const { id } = await findFlow(ask, reference);
    const answer = await ask("createBackfill", { id, body });
    return body.dry_run === false ? { backfill: answer, dry_run: false } : (answer as ToolResult);
  },
};

const SCHEDULE_FIELDS = [
  "active",
  "catchup",
  "catchup_max",
  "next_fire",
  "paused_reason",
  "paused_until",
  "schedule",
  "source",
] as const satisfies readonly (keyof ScheduleRow)[];

function describeSchedule({ name, project }: FlowSummary, row: ScheduleRow): ToolResult & { id: number } {
  const shown = Object.fromEntries(SCHEDULE_FIELDS.map((field) => [field, row[field]]));
  const { parameters } = row as Partial<ScheduleRow>;
  return { id: row.id, flow: name, project, ...shown, ...(parameters !== undefined && { parameters }) };
}

/** The created or changed schedule; a validation refusal becomes a failure that quotes it. */
async function checked(answer: Promise<unknown>): Promise<ScheduleRow> {
  try {
    return (await answer) as ScheduleRow;
  } catch (cause) {
    if (cause instanceof ToolFailure && cause.status === 422)
      throw new ToolFailure(`schedule is not valid: ${cause.message}`, 422);
    throw cause;
  }
}

async function withNextFires(ask: AskApi, row: ScheduleRow): Promise<ToolResult> {
  const preview = (await ask("previewSchedule", { body: { ...row.schedule, count: NEXT_FIRES } })) as PreviewResponse;
  const note = noteOn(row);
  return { ...(note !== "" && { note }), next_fires: preview.next, schedule: row };
}

function noteOn({ source, persist, active }: ScheduleRow): string {
  const notes: string[] = [];
  if (source === "code" && !persist)
    notes.push("The schedule is declared in code: this edit lasts until the server starts again.");
  if (!active) notes.push("The schedule is paused and does not fire until resume_schedule.");
  return notes.join(" ");
}
