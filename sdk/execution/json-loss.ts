/** What JSON has no form for, so that storing a value as JSON would spoil the value without an error. */

import { types } from "node:util";

/** Deeper parts are not looked at, so that the search stays within the stack for every value that JSON takes. */
const DEPTH_MAX = 100;

/** The first such part of a value without cycles, in words (`result.rows is a Map`); null if there is none. */
export function jsonLossOf(value: unknown, path = "result", depth = 0): string | null {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? null : `${path} is ${value}`;
    case "function":
    case "symbol":
      return `${path} is a ${typeof value}`;
    case "object":
      return value === null || depth > DEPTH_MAX || "toJSON" in value ? null : lossOfObject(value, path, depth);
    default:
      return null;
  }
}

function lossOfObject(value: object, path: string, depth: number): string | null {
  const entries = Object.entries(value);
  const kind: unknown = value.constructor;
  // Such as a Map, a Set or a generator: JSON makes {} of an instance whose content is not in its properties.
  const empty = entries.length === 0 && !Array.isArray(value) && typeof kind === "function" && kind !== Object;
  // The message of an error is no property that JSON takes, even where the error has others, such as a code.
  if (empty || types.isNativeError(value))
    return `${path} is an instance of ${(typeof kind === "function" && kind.name) || "a class"}`;
  for (const [key, part] of entries) {
    const loss = jsonLossOf(part, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`, depth + 1);
    if (loss !== null) return loss;
  }
  return null;
}
