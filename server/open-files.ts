/**
 * Divides the open files that the system allows: connections get what the store, the engines and outgoing requests do not
 * need. Otherwise clients could take the last descriptor, and the next open of the server would fail.
 */

/** Reserved for the store, reader threads, pipes of engines and the user-code process, and outgoing requests. */
const KEPT_MIN = 128;
const KEPT_MAX = 1_024;
const KEPT_SHARE = 1 / 4;
/** Maximum of concurrent outgoing requests when descriptors are not scarce. */
const OUTGOING_MAX = 256;
/** Fewer connections than this cause a warning. */
const CONNECTIONS_FEW = 1_000;

export interface OpenFilesPlan {
  /** Maximum number of connections. */
  connections: number;
  /** Maximum of concurrent outgoing requests. */
  outgoing: number;
  /** A warning for the start when connections are few, else null. */
  warning: string | null;
}

/** `max`: the process's limit of open files. */
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
