/** The outcome of a run or a task run, from its state: the result, or the traceback with the causes of the error. */

import { RESULT_BYTES_MAX } from "#protocol/limits";
import { lostResultBytes, lostResultReason, type State } from "#protocol/records/state";
import { printable, type Terminal } from "./terminal.ts";

/** The result as JSON, or why it is missing; null without a result. */
export function resultText(state: State): string | null {
  const lost = lostResultBytes(state);
  if (lost !== null) {
    const [size, limit] = [lost, RESULT_BYTES_MAX].map((bytes) => bytes.toLocaleString("en-US"));
    return `not kept: ${size} bytes, more than the ${limit} that are stored`;
  }
  const reason = lostResultReason(state);
  if (reason !== null) return `not kept: ${printable(reason)}`;
  const result = state.type === "Completed" ? state.details?.["result"] : undefined;
  return result === undefined || result === null ? null : printable(JSON.stringify(result));
}

/** The message of a state. The question of a durable run is in the details alone. */
export function messageOf({ message, details }: State): string | null {
  const prompt = details?.["prompt"];
  return message ?? (typeof prompt === "string" ? prompt : null);
}

/** The traceback of a state, without the lines that its message has just shown. */
export function tracebackLines(state: State, terminal: Terminal): string[] {
  const lines = printable(tracebackOf(state) ?? "")
    .trimEnd()
    .split("\n");
  const shown = printable(state.message ?? "").split("\n");
  const same = lines.findIndex((line, index) => line !== shown[index]);
  const rest = same === -1 ? [] : lines.slice(same);
  // The last line of a message with fields goes on with their opening brace.
  const last = same === shown.length - 1 ? shown[same] : undefined;
  if (last && rest[0]?.startsWith(`${last} {`)) rest[0] = "{";
  return rest.filter((line) => line !== "").map((line) => terminal.paint("dim", line));
}

/** Null for a state without a traceback, and for every state that is not a failure. */
export function tracebackOf({ type, details }: State): string | null {
  const traceback = type === "Failed" || type === "Crashed" ? details?.["traceback"] : null;
  return typeof traceback === "string" && traceback.trim() !== "" ? traceback : null;
}
