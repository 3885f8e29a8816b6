/** Bodies that the gateway parses: from JSON text to a validated value. */
import type { TSchema } from "typebox";
import { type Refusal, refuse } from "#protocol/errors";
import { parseJson, toTransferable } from "#protocol/values/json";
import { SENT_JSON } from "#protocol/values/json-scan";
import { validate } from "#protocol/values/validate";

type ParsedBody = { ok: true; value: unknown } | { ok: false; refusal: Refusal };

/**
 * Parses and validates. Integers beyond 2^53 become bigints, which can cross threads; they occur only in fields of arbitrary
 * JSON, because schemas bound their numbers.
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
