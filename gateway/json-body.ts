/** Bodies that the gateway parses: JSON text to a checked value. */
import type { TSchema } from "typebox";
import { type Refusal, refuse } from "#protocol/errors";
import { parseJson, toTransferable } from "#protocol/json";
import { SENT_JSON } from "#protocol/json-scan";
import { validate } from "#protocol/validate";

export type ParsedBody = { ok: true; value: unknown } | { ok: false; refusal: Refusal };

/**
 * Parses and checks. Integers beyond 2^53 are bigints in the value, which survive the way to another thread; there are none but
 * in fields that hold any JSON, because numbers of a schema are bounded.
 */
export function parseBody(text: string, schema: TSchema): ParsedBody {
  let value: unknown;
  try {
    value = parseJson(text, SENT_JSON);
  } catch (cause) {
    return { ok: false, refusal: refuse("bad_json", cause instanceof Error ? cause.message : "unreadable") };
  }
  const checked = validate(schema, value);
  return checked.ok ? { ok: true, value: toTransferable(value) } : { ok: false, refusal: refuse("invalid", checked.error) };
}
