/** The fields of an endpoint in the table of routes, and the helper that writes a row. */
import type { TSchema } from "typebox";
import { BODY_BYTES_MAX } from "../limits.ts";
import type { CommandKind } from "../wire/command.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One `{name}` of a path. */
export interface PathParameter {
  name: string;
  type: "int64" | "string";
}

/** One endpoint. */
export interface Route {
  method: Method;
  /** Path with its parameters in braces. */
  path: string;
  /** Unique name, in camelCase; read handlers have the same name. */
  operation: string;
  summary: string;
  /** False only if no token is required. */
  auth: boolean;
  /** command: decided by the core. read: answered from the store. local: answered by the gateway itself. */
  kind: "command" | "read" | "local";
  /** The command, if kind is command. */
  command?: CommandKind;
  path_parameters: readonly PathParameter[];
  query?: TSchema;
  body?: TSchema;
  /** True if a request without a body is refused; false in a row with `body_required: false`, and without a body. */
  body_required: boolean;
  body_bytes_max: number;
  /** Status of each answer and the schema of its body, null without a body. */
  responses: Readonly<Record<number, TSchema | null>>;
  /** True if an `Idempotency-Key` header returns the first answer again. */
  idempotency_key: boolean;
  /** True if runs that the request creates continue the trace that its header `traceparent` names. */
  traceparent: boolean;
  /** Media type of successful answers if it is not JSON. */
  media_type?: string;
  /** False if the OpenAPI document omits the route. */
  described: boolean;
}

type Options = Partial<
  Pick<
    Route,
    | "query"
    | "body"
    | "body_required"
    | "idempotency_key"
    | "traceparent"
    | "body_bytes_max"
    | "auth"
    | "media_type"
    | "described"
  >
>;
type Responses = Route["responses"];

const PARAMETER = /\{(\w+)\}/g;
const TEXT_PARAMETERS: ReadonlySet<string> = new Set(["name", "identity", "token", "key"]);

/** Creates a row; a route with a body requires the body. */
export function row(
  signature: `${Method} /${string}`,
  operation: string,
  summary: string,
  answeredBy: CommandKind | "read" | "local",
  responses: Responses,
  options: Options = {},
): Route {
  const [method = "", path = ""] = signature.split(" ");
  const kind = answeredBy === "read" || answeredBy === "local" ? answeredBy : "command";
  return {
    method: method as Method,
    path,
    operation,
    summary,
    auth: true,
    kind,
    ...(answeredBy === "read" || answeredBy === "local" ? {} : { command: answeredBy }),
    path_parameters: Array.from(path.matchAll(PARAMETER), ([, name = ""]) => ({
      name,
      type: TEXT_PARAMETERS.has(name) ? "string" : "int64",
    })),
    body_required: options.body !== undefined,
    body_bytes_max: BODY_BYTES_MAX,
    responses,
    idempotency_key: false,
    traceparent: false,
    described: true,
    ...options,
  };
}
