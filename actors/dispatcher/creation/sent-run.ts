/** What a request for a run sends, checked: its parameters, and the registration of its flow. */
import { type Refusal, refuse } from "#protocol/errors";
import { FLOW_BYTES_MAX, PARAMETERS_BYTES_MAX } from "#protocol/limits";
import { canonicalJson } from "#protocol/values/json";
import { exceedsBytes } from "#protocol/values/json-size";
import { checkParameters } from "#protocol/values/parameters";
import type { JsonMap } from "#protocol/values/scalar";
import type { Flow } from "../../core/state/flow.ts";

/** The parameters with the defaults of the flow, as canonical JSON text; or why they are refused. */
export function acceptParameters(schema: Flow["parameter_schema"], sent: JsonMap): string | Refusal {
  const checked = checkParameters(schema, sent);
  if (!checked.ok) return refuse("invalid", checked.error);
  const text = canonicalJson(checked.parameters);
  return exceedsBytes(text, PARAMETERS_BYTES_MAX) ? refuse("parameters_too_large", PARAMETERS_BYTES_MAX) : text;
}

interface SentFlow {
  parameter_schema?: unknown;
  options?: unknown;
}

/** Refuses a flow with a part that is too large to be kept in memory; `text` is the JSON text that holds both parts. */
export function refuseLargeFlow(text: string, sent: SentFlow): Refusal | null {
  if (!exceedsBytes(text, FLOW_BYTES_MAX)) return null;
  const large = (["parameter_schema", "options"] as const).find((field) =>
    exceedsBytes(canonicalJson(sent[field] ?? null), FLOW_BYTES_MAX),
  );
  return large === undefined ? null : refuse("value_too_large", large, FLOW_BYTES_MAX);
}
