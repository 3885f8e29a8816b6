/**
 * Status lines, ready to be written. node:http is not imported, because its export of WebSocket loads a whole HTTP client.
 */
const { STATUS_CODES } = process.getBuiltinModule("node:http");

const LINES = new Map<number, string>();
for (const [code, reason] of Object.entries(STATUS_CODES)) LINES.set(Number(code), `${code} ${reason}`);

export function statusLine(status: number): string {
  return LINES.get(status) ?? String(status);
}
