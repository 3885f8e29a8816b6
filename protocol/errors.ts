/**
 * Refusals. A refusal is a value, never thrown; the table has one row per reason, with status and message, so that every part
 * of the server refuses in the same way.
 */
import Type, { type Static } from "typebox";
import type { State, StateType } from "./records/state.ts";
import { StateSchema } from "./records/state-schema.ts";
import { nullable } from "./values/scalar.ts";

/** Body of every error response. */
export const ErrorBody = Type.Object({ error: Type.String() }, { title: "ErrorBody" });
export type ErrorBody = Static<typeof ErrorBody>;

/** Body of a refused move: the reason, and the state of the run. */
export const TransitionRejected = Type.Object(
  { error: Type.String(), reason: Type.String(), current: Type.Optional(nullable(StateSchema)) },
  { title: "TransitionRejected" },
);
export type TransitionRejected = Static<typeof TransitionRejected>;

/** The only reasons to refuse a move. */
export type TransitionReason = "terminal" | "duplicate" | "invalid-entry" | "cancelling";

const REASON_TEXT: Record<TransitionReason, string> = {
  terminal: "it has ended",
  duplicate: "it is in that state already",
  "invalid-entry": "that move is not allowed",
  cancelling: "it is being cancelled",
};

interface Row {
  status: number;
  message: (...values: never[]) => string;
}

/** Every refusal: HTTP status and message. */
export const REFUSALS = {
  // 400: the request is malformed
  bad_json: { status: 400, message: (why: string) => `body is not valid JSON: ${why}` },
  bad_query: { status: 400, message: (name: string, expected: string) => `query parameter ${name}: expected ${expected}` },
  repeated_query: { status: 400, message: (name: string) => `query parameter ${name}: given more than once` },
  bad_path: { status: 400, message: (name: string) => `path parameter ${name}: expected an integer` },
  bad_idempotency_key: { status: 400, message: (max: number) => `Idempotency-Key: expected 1 to ${max} characters` },
  bad_content_length: { status: 400, message: () => "header Content-Length: expected one number" },
  bad_transfer_encoding: { status: 400, message: () => "header Transfer-Encoding: expected chunked, without a Content-Length" },
  bad_target: { status: 400, message: () => "expected a path as the target of the request" },
  not_one_host: { status: 400, message: (count: number) => `header Host: expected one, got ${count}` },
  mcp_session_missing: { status: 400, message: () => "header Mcp-Session-Id is required" },
  mcp_version: {
    status: 400,
    message: (version: string, spoken: string) =>
      `MCP-Protocol-Version "${version}" is not supported; this server speaks ${spoken}`,
  },

  // 401, 403: not authorised
  token_missing: { status: 401, message: () => "a token is required: send it as Authorization: Bearer <token>" },
  token_wrong: { status: 401, message: () => "the token was rejected" },
  host_not_allowed: {
    status: 403,
    message: (host: string) => `host "${host}" is not allowed; see allowed_hosts in millrace.toml`,
  },
  origin_not_allowed: { status: 403, message: (origin: string) => `origin "${origin}" does not match the host` },

  other_site: { status: 403, message: () => "pages of other sites may not ask; open the dashboard itself" },

  // 404: not found
  not_found: { status: 404, message: () => "not found" },
  run_not_found: { status: 404, message: (id: number) => `run ${id} not found` },
  task_run_not_found: { status: 404, message: (id: number) => `task run ${id} not found` },
  flow_not_found: { status: 404, message: (id: number) => `flow ${id} not found` },
  flow_unknown: {
    status: 404,
    message: (project: string, flow: string) =>
      `flow "${project}/${flow}" is not registered; send module and source_dir to register it`,
  },
  event_not_found: { status: 404, message: (id: number) => `event ${id} not found` },
  schedule_not_found: { status: 404, message: (id: number) => `schedule ${id} not found` },
  skip_not_found: { status: 404, message: () => "no skip at that time" },
  backfill_not_found: { status: 404, message: (id: number) => `backfill ${id} not found` },
  rule_not_found: { status: 404, message: (id: number) => `rule ${id} not found` },
  variable_not_found: { status: 404, message: (name: string) => `variable ${name} not found` },
  mcp_session_not_found: { status: 404, message: () => "no such MCP session; send initialize to open one" },

  // 405, 413, 415
  method_not_allowed: { status: 405, message: (allow: string) => `method not allowed; use ${allow}` },
  body_too_large: { status: 413, message: (max: number) => `body exceeds ${max} bytes` },
  not_json: { status: 415, message: () => "expected content-type application/json" },

  // 409: not possible in this state
  flow_live: {
    status: 409,
    message: (name: string) => `flow "${name}" is live: it is registered from code by the running server`,
  },
  run_ended: {
    status: 409,
    message: (id: number) => `run ${id} has ended, is paused or waits without an engine; it cannot hold resources`,
  },
  run_goes_on: { status: 409, message: (id: number, other: number) => `run ${id} goes on as run ${other}` },
  run_not_ended: { status: 409, message: (state: string) => `run is ${state}; only a run that has ended can be retried` },
  no_results: {
    status: 422,
    message: (id: number) => `run ${id} is not durable: it has no results to go on with; retry it from its start`,
  },
  no_task: { status: 422, message: (id: number, key: string) => `run ${id} has no task run "${key}"` },
  not_asleep: { status: 409, message: (state: string) => `run is ${state}; it neither sleeps nor waits for its next attempt` },
  not_paused: { status: 409, message: (state: string) => `run is ${state}, not Paused` },
  stale_lease: { status: 409, message: (id: number) => `run ${id} was handed out again; this lease is over` },
  never_held: {
    status: 409,
    message: (engine: string, run: number, lease: number) => `engine ${engine} never held run ${run} under lease ${lease}`,
  },
  exchange_outdated: {
    status: 409,
    message: (sent: number, newest: number) => `exchange ${sent} came after exchange ${newest} of this engine`,
  },
  stopping: { status: 409, message: () => "the server is stopping" },
  variable_exists: { status: 409, message: (name: string) => `variable ${name} exists` },
  secret_key_missing: {
    status: 409,
    message: () => "secret.key is missing while secrets are stored under it; restore the file or delete them",
  },
  secret_kept: { status: 409, message: (name: string) => `variable ${name} is secret, and an agent cannot make it plain` },
  secret_unreadable: {
    status: 409,
    message: (name: string) => `variable ${name} cannot be decrypted: secret.key is missing or another one`,
  },
  code_schedule: {
    status: 409,
    message: (id: number) => `schedule ${id} is declared in code, which would make it again; pause it instead`,
  },
  code_rule: { status: 409, message: (name: string) => `rule "${name}" comes from code; only enabled can be changed` },
  idempotency_mismatch: { status: 409, message: () => "Idempotency-Key was used for a different request" },

  // 422: well-formed, but invalid
  invalid: { status: 422, message: (text: string) => text },
  body_required: { status: 422, message: () => "a body is required" },
  batch_flow_twice: {
    status: 422,
    message: (project: string, flow: string) =>
      `flow "${project}/${flow}" is registered differently by an earlier run of the batch`,
  },
  batch_text: {
    status: 422,
    message: (max: number) =>
      `parameters, tags and names of all runs together, with the defaults, exceed ${max} characters; use several batches`,
  },
  batch_tags: {
    status: 422,
    message: (max: number) => `the runs have more than ${max} tags together, with those of the flows; use several batches`,
  },
  batch_flows: { status: 422, message: (max: number) => `a batch registers at most ${max} flows` },
  parameters_too_large: { status: 422, message: (max: number) => `parameters exceed ${max} bytes` },
  value_too_large: { status: 422, message: (what: string, max: number) => `${what} exceeds ${max} bytes as JSON text` },
  artifact_too_large: { status: 422, message: () => "artifact exceeds 1 MB" },
  variable_too_large: { status: 422, message: (max: number) => `value exceeds ${max} bytes` },
  unknown_level: {
    status: 422,
    message: (word: string) =>
      `query parameter level: unknown level "${word}"; expected a number or DEBUG, INFO, WARNING, ERROR, CRITICAL`,
  },
  bad_filter: { status: 422, message: (name: string, why: string) => `query parameter ${name}: ${why}` },
  event_name_blank: { status: 422, message: () => "event name is required" },

  // 429: more requests than the interface takes
  too_many_callbacks: {
    status: 429,
    message: () => "too many requests to callbacks that are not open; try again in a second",
  },

  // 500 to 504, 507: limits and failures of the server
  settings_not_written: { status: 500, message: (why: string) => `the settings could not be written to millrace.toml: ${why}` },
  internal: { status: 500, message: (id: string) => `internal error ${id}; the server's log has its cause` },
  route_failed: { status: 500, message: (why: string) => why },
  route_ended: { status: 502, message: (why: string) => why },
  route_timed_out: { status: 504, message: (why: string) => why },
  busy: { status: 503, message: () => "too many requests in progress; try again" },
  read_too_long: {
    status: 503,
    message: (ms: number) => `the read took longer than ${ms} ms; ask for less, or try again when the server has less to do`,
  },
  too_many_connections: { status: 503, message: () => "too many connections are open; try again" },
  unavailable: { status: 503, message: () => "the server is restarting a part of itself; try again" },
  no_room_for_runs: {
    status: 503,
    message: (wanted: number, max: number) =>
      `no room for ${wanted === 1 ? "another run" : `${wanted} more runs`}: ${max} may be unfinished ([server] max_unfinished_runs); try again when some have ended`,
  },
  too_many_rules: {
    status: 503,
    message: (count: number, bytes: number) => `there may be ${count} rules, of ${bytes} bytes together; delete some first`,
  },
  too_many_leases: {
    status: 503,
    message: (max: number) => `leases hold ${max} resources, the most that may be; try again when some are given back`,
  },
  store_unavailable: { status: 503, message: (why: string) => `the store takes no writes: ${why}` },
  store_unreadable: { status: 503, message: (why: string) => `the store cannot be read: ${why}` },
  disk_full: { status: 507, message: (why: string) => `the store takes no writes: ${why}` },
} as const satisfies Record<string, Row>;

export type RefusalCode = keyof typeof REFUSALS;

/** A refusal, as a value that travels from the deciding part to the answering part. */
export class Refusal {
  readonly code: RefusalCode | "transition_rejected";
  readonly status: number;
  readonly message: string;
  /** Further fields of the body, after `error`. */
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(code: Refusal["code"], status: number, message: string, fields: Record<string, unknown> = {}) {
    this.code = code;
    this.status = status;
    this.message = message;
    this.fields = fields;
  }

  /** The response body as JSON text: `{error}` and the further fields. */
  body(): string {
    return JSON.stringify({ error: this.message, ...this.fields });
  }
}

/** Creates the refusal of a table row from the values of its message. */
export function refuse<C extends RefusalCode>(code: C, ...values: Parameters<(typeof REFUSALS)[C]["message"]>): Refusal {
  const row: Row = REFUSALS[code];
  return new Refusal(code, row.status, row.message(...(values as never[])));
}

/** 409 for a move that the state table refuses. */
export function refuseTransition(reason: TransitionReason, to: StateType, current: State | null): Refusal {
  const from = current === null ? "a new run" : `run is ${current.name},`;
  const message = `${from} cannot become ${to}: ${REASON_TEXT[reason]}`;
  return new Refusal("transition_rejected", 409, message, { reason, current });
}

/** 409 for a move under a lease that is over: a rejected transition like the others. */
export function refuseStaleLease(runId: number, current: State): Refusal {
  return new Refusal("stale_lease", 409, REFUSALS.stale_lease.message(runId), { reason: "stale-lease", current });
}

/** 409 for a run that neither sleeps nor waits for its next attempt. */
export function refuseWake(current: State): Refusal {
  return new Refusal("not_asleep", 409, REFUSALS.not_asleep.message(current.name), { reason: "not-asleep", current });
}

/** 409 for an answer to a run that waits for none. */
export function refuseResume(current: State): Refusal {
  return new Refusal("not_paused", 409, REFUSALS.not_paused.message(current.name), { current });
}
