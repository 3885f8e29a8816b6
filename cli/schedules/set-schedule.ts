/** `millrace schedules set`: the schedule of a flow with a key. */
import { CATCHUP_POLICIES, type CatchupPolicy, type ScheduleBody } from "#protocol/records/schedule";
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError } from "../exit-code.ts";
import { findFlow } from "../run/flow-target.ts";
import { positive } from "../runs/runs.ts";
import { showResult } from "../terminal/show-result.ts";
import { nextSentence, specOf } from "./schedules.ts";

export interface ScheduleSetOptions extends ConnectionOptions {
  cron?: string;
  every?: string;
  rrule?: string;
  timezone?: string;
  catchup?: string;
  catchupMax?: string;
  parameters?: string;
}

export async function setSchedule(named: string, key: string, options: ScheduleSetOptions): Promise<number> {
  const { timezone = null, catchup, catchupMax, parameters } = options;
  const schedule: ScheduleBody = {
    ...specOf(options),
    timezone,
    catchup: catchup === undefined ? null : policyOf(catchup),
    catchup_max: catchupMax === undefined ? null : positive("--catchup-max", catchupMax),
    parameters: parameters === undefined ? null : objectOf(parameters),
  };
  const client = connect(options);
  const slash = named.indexOf("/");
  const target = { project: slash < 0 ? null : named.slice(0, slash), flow: named.slice(slash + 1) };
  const { id } = await findFlow(client, { kind: "name", ...target });
  const row = await client.schedules.put(id, key, schedule);
  return showResult(options, row, nextSentence(row));
}

function policyOf(text: string): CatchupPolicy {
  const found = CATCHUP_POLICIES.find((policy) => policy === text);
  if (found === undefined) throw new CommandError(`"${text}" is no policy`, `Write one of ${CATCHUP_POLICIES.join(", ")}.`);
  return found;
}

function objectOf(text: string): Record<string, unknown> {
  let read: unknown = null;
  try {
    read = JSON.parse(text);
  } catch {
    // Named below, like other JSON that is no object.
  }
  if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  throw new CommandError("--parameters is no JSON object", 'Write it like \'{"day": "{{ fire.date }}"}\'.');
}
