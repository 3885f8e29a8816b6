/** The notice at the first start of a home whose engines execute several runs at a time: which flows share them. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServerConfig } from "#server/config/config";
import type { Discovery } from "#server/discovery/discovery";

/** Present once the notice was given. */
const MARKER = "engine-slots.noted";

/** The names of the flows to be named at this start; none if that was done before, or if engines execute one run at a time. */
export function flowsToName(config: ServerConfig, { flows }: Pick<Discovery, "flows">): string[] {
  if (!config.engines || config.engineSlots === 1 || existsSync(join(config.home, MARKER))) return [];
  const names = flows.filter((flow) => isShared(flow, config)).map(({ flow }) => flow);
  if (names.length > 0) writeFileSync(join(config.home, MARKER), "", { mode: 0o600 });
  return names.sort();
}

/** Whether any number of runs of a flow may share an engine: nothing in its options bounds them or keeps them apart. */
function isShared({ options }: Discovery["flows"][number], { crashRetriesDefault }: ServerConfig): boolean {
  const { max_concurrent, isolated, exclusive, crash_retries } = options;
  const isExclusive = exclusive ?? (crash_retries ?? crashRetriesDefault) === 0;
  return !isExclusive && isolated !== true && (max_concurrent ?? 0) === 0;
}
