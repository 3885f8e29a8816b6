/** The field of the form for a message of the server, and the suggestion in the message. */
import { messageOf } from "../../api/client.ts";
import { DraftError } from "./rule-draft.ts";

/** The lists of names in a match. */
export type MatchList = "events" | "flows" | "states" | "tags";

export interface RuleProblem {
  /** "name", "when", "unless", "at", "within", "do", "do.0", "cooldown_seconds", "max_per_minute"; "" for the whole rule. */
  field: string;
  text: string;
  /** The list of a match that holds the wrong name; "" if the message is about no name. */
  list: MatchList | "";
  /** The wrong name and the nearest existing name. */
  swap: { wrong: string; right: string } | null;
}

export const NO_PROBLEM: RuleProblem = { field: "", text: "", list: "", swap: null };

const FIELD = /^(name|when|unless|within|at|do|once|cooldown_seconds|max_per_minute|allow_self)\b[^:]*:\s*(.*)$/s;
const NEEDS = /^(unless|within|at)\b/;

export function problemOf(cause: unknown): RuleProblem {
  const text = messageOf(cause);
  if (cause instanceof DraftError) return { field: cause.field, text, list: "", swap: null };
  return { ...placeOf(text), list: listIn(text), swap: swapIn(text) };
}

function placeOf(text: string): { field: string; text: string } {
  const action = /^action (\d+): (.*)$/s.exec(text) ?? /^do[.[](\d+)\]?[^:]*: (.*)$/s.exec(text);
  if (action !== null) return { field: `do.${action[1]}`, text: action[2] ?? "" };
  const named = FIELD.exec(text);
  if (named !== null) return { field: named[1] ?? "", text: named[2] ?? "" };
  const lacking = NEEDS.exec(text);
  if (lacking !== null) return { field: lacking[1] ?? "", text };
  return { field: text.includes("at least one action") ? "do" : "", text };
}

function listIn(text: string): RuleProblem["list"] {
  if (/\bunknown state "/.test(text)) return "states";
  return /\bevent name\b|\bexpected event\b|\bneeds when events\b/.test(text) ? "events" : "";
}

function swapIn(text: string): RuleProblem["swap"] {
  const found = /(?:event name|unknown state) "([^"]+)".*did you mean "([^"]+)"/s.exec(text);
  return found === null ? null : { wrong: found[1] ?? "", right: found[2] ?? "" };
}
