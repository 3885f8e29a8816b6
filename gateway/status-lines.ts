/** Status lines of the answers we give, ready to be written. */
import { STATUS_CODES } from "node:http";

const LINES = new Map<number, string>();
for (const [code, reason] of Object.entries(STATUS_CODES)) LINES.set(Number(code), `${code} ${reason}`);

export function statusLine(status: number): string {
  return LINES.get(status) ?? String(status);
}
