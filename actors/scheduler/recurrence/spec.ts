/** The spec of a schedule, validated: its stored form, and its fires. */
import type { Schedule } from "#protocol/records/schedule";
import { CronFires, parseCron } from "./cron.ts";
import { type Fires, RememberedFires } from "./fires.ts";
import { intervalFires } from "./interval.ts";
import { RecurrenceFires } from "./rrule.ts";
import { parseRecurrence } from "./rrule-parse.ts";
import { findZone, type Zone } from "./zone.ts";

/** A stored schedule: complete, with the zone of its creation. */
export type StoredSpec =
  | { kind: "cron"; cron: string; timezone: string; day_or: boolean }
  | { kind: "interval"; interval: number; anchor: number; timezone: string }
  | { kind: "rrule"; rrule: string; timezone: string };

export interface ReadySpec {
  spec: StoredSpec;
  fires: Fires;
}

export type CheckedSpec = { ok: true; ready: ReadySpec } | { ok: false; error: string };

export interface SpecDefaults {
  /** Default for schedules without a zone. */
  timezone: string;
  /** Default for intervals without an anchor. */
  anchorUs: number;
}

/** Validates a spec from a client or a declaration and fills in defaults. */
export function readSpec(sent: Schedule, defaults: SpecDefaults): CheckedSpec {
  const name = sent.timezone == null || sent.timezone === "" || sent.timezone === "local" ? defaults.timezone : sent.timezone;
  const zone = findZone(name);
  if (zone === null) return { ok: false, error: `unknown timezone "${name}"` };
  switch (sent.kind) {
    case "cron":
      return readCron(sent.cron, sent.day_or ?? true, zone);
    case "interval":
      return readInterval(sent.interval, sent.anchor ?? defaults.anchorUs, zone);
    case "rrule":
      return readRrule(sent.rrule, zone);
  }
}

function ready(spec: StoredSpec, fires: Fires): CheckedSpec {
  return { ok: true, ready: { spec, fires: new RememberedFires(fires) } };
}

function readCron(cron: string, dayOr: boolean, zone: Zone): CheckedSpec {
  const parsed = parseCron(cron, dayOr);
  if (!parsed.ok) return parsed;
  return ready({ kind: "cron", cron, timezone: zone.name, day_or: dayOr }, new CronFires(parsed.times, zone));
}

function readInterval(interval: number, anchor: number, zone: Zone): CheckedSpec {
  if (!(interval > 0)) return { ok: false, error: "interval must be positive" };
  return ready({ kind: "interval", interval, anchor, timezone: zone.name }, intervalFires(interval, anchor, zone));
}

function readRrule(rrule: string, given: Zone): CheckedSpec {
  try {
    const rule = parseRecurrence(rrule);
    const zone = rule.timezone === null ? given : findZone(rule.timezone);
    if (zone === null) return { ok: false, error: `unknown timezone "${rule.timezone}"` };
    return ready({ kind: "rrule", rrule, timezone: zone.name }, new RecurrenceFires(rule, zone));
  } catch (cause) {
    return { ok: false, error: `invalid rrule: ${cause instanceof Error ? cause.message : String(cause)}` };
  }
}
