/** Compares cron with its oracle over the 24 months of 2026 and 2027. */
import { CronFires, parseCron } from "#actors/scheduler/recurrence/cron";
import { findZone } from "#actors/scheduler/recurrence/zone";
import { EXPRESSIONS, type OracleExpression, oracleFires } from "./cron-oracle.ts";

const FROM = Date.UTC(2026, 0, 1) / 60_000;
const TO = Date.UTC(2028, 0, 1) / 60_000;

/** The differences in a zone, in words; empty when all fires of all expressions are equal. */
export function cronDifferences(zoneName: string, expressions: readonly OracleExpression[] = EXPRESSIONS): string[] {
  const zone = findZone(zoneName);
  if (zone === null) return [`${zoneName} is not known`];
  const wanted = oracleFires(zoneName, expressions, FROM, TO);
  return expressions.flatMap(({ text, dayOr }, index) => {
    const parsed = parseCron(text, dayOr);
    if (!parsed.ok) return [parsed.error];
    const expected = wanted[index] ?? [];
    const found = new CronFires(parsed.times, zone).after(FROM * 60e6 - 1, expected.length + 1).filter((us) => us < TO * 60e6);
    const at = found.findIndex((us, place) => us !== expected[place]);
    if (at < 0 && found.length === expected.length) return [];
    const shown = (us: number | undefined): string => (us === undefined ? "none" : new Date(us / 1000).toISOString());
    const place = Math.max(at, 0);
    return [`${zoneName} ${text}: fire ${place} is ${shown(found[place])}, expected ${shown(expected[place])}`];
  });
}
