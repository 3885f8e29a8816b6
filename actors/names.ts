/**
 * The names of actors and of other endpoints of messages. This module imports nothing: every thread needs the names, and none
 * should load another thread's code for them.
 */

export const DISPATCHER = "dispatcher";
export const LEASE_MANAGER = "lease-manager";
export const SCHEDULER = "scheduler";
export const RECORDS = "records";
export const RULE_ENGINE = "rule-engine";
export const RULE_READER = "rule-reader";
export const EXPECTATION_TIMER = "expectation-timer";
export const STORE_WRITER = "store-writer";
export const LOG_WRITER = "log-writer";
export const CHECKPOINTER = "checkpointer";
export const ENGINE_PROCESSES = "engine-processes";
export const OUTBOUND = "outbound";
export const USER_CODE = "user-code";
export const GATEWAY = "gateway";

/** Decisions are sent here, to the commit client. */
export const COMMITS = "commits";
/** Informs main that the gateway listens. */
export const LISTENING = "listening";
/** Informs main that the flows of a discovery are registered. */
export const REGISTERED = "registered";
/** Informs main that somebody reads the metrics. */
export const SCRAPES = "scrapes";
/** Lines for the server's log are sent here. */
export const SERVER_LOG = "server-log";
