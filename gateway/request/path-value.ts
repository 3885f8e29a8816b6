/** The parameters of a path: a number, a name, or a number and a name. Each may be percent-encoded. */
import { type Refusal, refuse } from "#protocol/errors";
import { parsePathId } from "#protocol/routes/query";
import type { Route } from "#protocol/routes/route";

export interface PathValue {
  /** 0 without a number. */
  id: number;
  /** Empty without a name. */
  name: string;
}

export type ReadPathValue = ({ ok: true } & PathValue) | { ok: false; refusal: Refusal };

export function readPathValue(route: Route, values: readonly string[]): ReadPathValue {
  const parameter = route.path_parameters[0];
  if (parameter === undefined) return { ok: true, id: 0, name: "" };
  if (parameter.type === "string") return readName(values[0] ?? "");
  const text = readName(values[0] ?? "");
  if (!text.ok) return text;
  const parsed = parsePathId(parameter.name, text.name);
  if (!parsed.ok) return parsed;
  if (route.path_parameters[1]?.type !== "string") return { ok: true, id: parsed.id, name: "" };
  const second = readName(values[1] ?? "");
  return second.ok ? { ...second, id: parsed.id } : second;
}

/** Text with invalid percent-encoding names nothing. */
function readName(text: string): ReadPathValue {
  try {
    return { ok: true, id: 0, name: decodeURIComponent(text) };
  } catch {
    return { ok: false, refusal: refuse("not_found") };
  }
}
