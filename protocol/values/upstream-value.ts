/** Values of an upstream run in the parameters of a flow that follows (interface: AfterSpec). */

/** A text that consists of exactly one of these expressions is replaced by the value, with the value's type. */
const EXPRESSION = /^\{\{\s*run\.(id|name|external_id|parameters\.([A-Za-z_][A-Za-z0-9_]*))\s*\}\}$/;

export interface UpstreamValue {
  /** "id", "name", "external_id", or "parameters." and a name. */
  fact: string;
  /** The name of the parameter; null for another fact. */
  parameter: string | null;
}

/** The value that a text stands for; null for a text that is passed on as it is. */
export function upstreamValue(text: string): UpstreamValue | null {
  const [, fact, parameter = null] = EXPRESSION.exec(text) ?? [];
  return fact === undefined ? null : { fact, parameter };
}
