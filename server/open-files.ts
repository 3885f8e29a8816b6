/**
 * How the open files that the system allows are shared out: connections get what the store, the engines and outgoing requests do
 * not need. Without that, clients could take the last one, and whatever the server opens next would fail.
 */

/** Kept for the store, reader threads, pipes of engines and the process of user code, and outgoing requests. */
const KEPT_MIN = 128;
const KEPT_MAX = 1_024;
const KEPT_SHARE = 1 / 4;
/** Outgoing requests at one time, where files are not scarce. */
const OUTGOING_MAX = 256;
/** Fewer connections than this are worth a warning. */
const CONNECTIONS_FEW = 1_000;

export interface OpenFilesPlan {
  /** Connections that are served at one time. */
  connections: number;
  /** Outgoing requests at one time. */
  outgoing: number;
  /** Said at the start where connections are few; null elsewhere. */
  warning: string | null;
}

/** `max`: as many files as the process may open. */
export function planOpenFiles(max: number): OpenFilesPlan {
  const wanted = Math.min(KEPT_MAX, Math.max(KEPT_MIN, Math.ceil(max * KEPT_SHARE)));
  const kept = Math.min(wanted, Math.ceil(max / 2));
  const connections = max - kept;
  const few = `open files are limited to ${max} (ulimit -n): connections beyond ${connections} are refused`;
  return {
    connections,
    outgoing: Math.min(OUTGOING_MAX, Math.ceil(kept / 4)),
    warning: connections < CONNECTIONS_FEW ? few : null,
  };
}
