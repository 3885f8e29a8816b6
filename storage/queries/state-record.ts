/** The state in the record of a run or task run. */
import { stateType } from "../schema/codes.ts";
import { quoted, stored } from "./json.ts";

/** `name` is NULL in the store when it equals the type. */
export function renderState(
  type: number,
  name: string | null,
  timestamp: number,
  message: string | null,
  details: string | null,
): string {
  const typeName = stateType(type);
  return `{"name":${quoted(name ?? typeName)},"type":"${typeName}","timestamp":${timestamp},"message":${quoted(message)},"details":${stored(details, "{}")}}`;
}
