/**
 * Settings that were changed at run time and are rows of the store, a name and a number each: `retain_days`, `crash_retries` and
 * `resources.NAME`. They take precedence over millrace.toml.
 */
import type { SettingsPatch } from "#protocol/records/server";
import type { DispatchSettings } from "./live-state.ts";

const RETAIN_DAYS = "retain_days";
const CRASH_RETRIES = "crash_retries";
const RESOURCE = "resources.";

/** By name. */
export type ChangedSettings = ReadonlyMap<string, number>;

/** The changes of a request. */
export function changesOf({ retain_days, crash_retries, resources }: SettingsPatch): ChangedSettings {
  const changes = new Map<string, number>();
  if (retain_days != null) changes.set(RETAIN_DAYS, retain_days);
  if (crash_retries != null) changes.set(CRASH_RETRIES, crash_retries);
  for (const [name, total] of Object.entries(resources ?? {})) changes.set(RESOURCE + name, total);
  return changes;
}

/** The changes among the rows of settings, which have other things too. */
export function changesIn(rows: readonly { name: string; value: string }[]): ChangedSettings {
  const isChange = (name: string): boolean => name === RETAIN_DAYS || name === CRASH_RETRIES || name.startsWith(RESOURCE);
  return new Map(rows.filter(({ name }) => isChange(name)).map(({ name, value }) => [name, Number(value)]));
}

/** The settings with the changes, as a copy: a reload of the store begins with the configured settings. */
export function withChanges(settings: DispatchSettings, changes: ChangedSettings): DispatchSettings {
  const resourceTotals = new Map(settings.resourceTotals);
  for (const [name, value] of changes) if (name.startsWith(RESOURCE)) resourceTotals.set(name.slice(RESOURCE.length), value);
  return {
    ...settings,
    resourceTotals,
    retainDays: changes.get(RETAIN_DAYS) ?? settings.retainDays,
    crashRetriesDefault: changes.get(CRASH_RETRIES) ?? settings.crashRetriesDefault,
  };
}

/** A line for each change that differs from the configured value. */
export function hiddenValues(settings: DispatchSettings, changes: ChangedSettings): string[] {
  const configured = changesOf({
    retain_days: settings.retainDays,
    crash_retries: settings.crashRetriesDefault,
    resources: Object.fromEntries(settings.resourceTotals),
  });
  return [...changes].flatMap(([name, value]) => {
    const hidden = configured.get(name);
    if (hidden === value) return [];
    return `${name} is ${value}: it was changed at run time, and the configured value is not used: ${hidden ?? "none"}`;
  });
}
