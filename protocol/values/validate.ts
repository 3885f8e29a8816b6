/**
 * Checks parsed bodies against their schemas. A schema is compiled at its first use on a thread (some milliseconds) and kept; a
 * check then takes less than a microsecond per field. Values are not converted.
 */
import type { Static, TSchema } from "typebox";
// The compiler for plain JSON Schema: it loads in half the time of typebox/compile, and our schemas need no more.
import { Compile } from "typebox/schema";
import { hasExactIntegers, roundIntegers } from "./json.ts";
import { explainMismatch } from "./mismatch.ts";

/** The part of a compiled schema that we use. */
interface Validator {
  Check(value: unknown): boolean;
}

const compiled = new WeakMap<TSchema, Validator>();

function validatorOf(schema: TSchema): Validator {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const made: Validator = Compile(schema as object);
  compiled.set(schema, made);
  return made;
}

export type Checked<T> = { ok: true; value: T } | { ok: false; error: string };

/**
 * Checks a value. The error names the first invalid field and the expected value, for example `events[3].state.type: expected
 * one of Scheduled, Pending, ...`.
 */
export function validate<S extends TSchema>(schema: S, value: unknown): Checked<Static<S>> {
  // An integer beyond 2^53 is held as an object (json.ts); checking it as its number keeps it from passing as a map.
  const plain = hasExactIntegers(value) ? roundIntegers(value) : value;
  const validator = validatorOf(schema);
  if (validator.Check(plain)) return { ok: true, value: value as Static<S> };
  return { ok: false, error: explainMismatch(schema, plain) ?? "body does not match its schema" };
}

/** Compiles a schema ahead of its first use. */
export function prepare(schema: TSchema): void {
  validatorOf(schema);
}
