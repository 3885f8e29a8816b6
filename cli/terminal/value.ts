/** Values on a command line: JSON if the text is valid JSON, else text; and times. */

import { parseJson } from "#protocol/values/json";
import { CommandError } from "../exit-code.ts";

/** Keeps the types of 3, true and [1, 2], and the digits of large integers. */
export function jsonOrText(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** Microseconds since the Unix epoch, as a number or as a date. */
export function timeOf(text: string): number {
  if (/^\d{10,}$/.test(text)) return Number(text);
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw new CommandError(`"${text}" is not a time`, "Write 2026-01-31T06:00:00Z, or microseconds.");
  return ms * 1000;
}
