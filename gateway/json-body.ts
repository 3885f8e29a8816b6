/** Bodies that the gateway parses: JSON text to a checked value. */
import type { TSchema } from "typebox";
import { type Refusal, refuse } from "#protocol/errors";
import { hasExactIntegers, parseJson } from "#protocol/json";
import { validate } from "#protocol/validate";

export type ParsedBody = { ok: true; value: unknown } | { ok: false; refusal: Refusal };

/**
 * Parses and checks. A body that holds an integer beyond 2^53 is passed on as its text, because the form in which this
 * thread keeps such integers does not survive the way to another one.
 */
export function parseBody(text: string, schema: TSchema): ParsedBody {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (cause) {
    return { ok: false, refusal: refuse("bad_json", cause instanceof Error ? cause.message : "unreadable") };
  }
  const checked = validate(schema, value);
  if (!checked.ok) return { ok: false, refusal: refuse("invalid", checked.error) };
  return { ok: true, value: hasExactIntegers(value) ? text : value };
}
