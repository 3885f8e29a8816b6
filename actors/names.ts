/**
 * The names under which messages reach actors and the endpoints beside them. This module imports nothing: every thread needs
 * the names, and none should load the code of another one for them.
 */

export const DISPATCHER = "dispatcher";
export const LEASES = "leases";
export const SCHEDULER = "scheduler";
export const RECORDS = "records";
export const RULES = "rules";
export const RULE_READER = "rule-reader";
export const EXPECTATIONS = "expectations";
export const STORE_WRITER = "store-writer";
export const LOG_WRITER = "log-writer";
export const CHECKPOINTER = "checkpointer";
export const ENGINE_PROCESSES = "engine-processes";
export const OUTBOUND = "outbound";
export const USER_CODE = "user-code";
export const GATEWAY = "gateway";

/** Where decisions are handed to the commit client. */
export const COMMITS = "commits";
/** Where main learns that the gateway listens. */
export const LISTENING = "listening";
/** Where threads tell what belongs into the server's log. */
export const SERVER_LOG = "server-log";
