/** Makes creations safe to resend. */

export interface CreateOptions {
  /**
   * Two creations with one key create one record (for 24 hours). Every creation has a key, by default a new one, so it is
   * resent when its answer was lost. Your own key also covers a restart of your program.
   */
  idempotencyKey?: string | undefined;
  /** Ends the request. */
  signal?: AbortSignal | undefined;
}

/** Options of the methods that create a run. */
export interface CreateRunOptions extends CreateOptions {
  /**
   * How long the answer waits for the end of the run, in ms, at most 30,000. The run returned has ended, or is as it is when
   * the time is over.
   */
  waitMs?: number | undefined;
}

const KEY_BYTES = 16;

/** Kept on the global object, because user code may load another copy of this package than the server did. */
const DEFAULT_KEY = Symbol.for("millrace.idempotency-key");
const globals = globalThis as typeof globalThis & { [DEFAULT_KEY]?: () => string | undefined };

/** Where the next creation without a key takes its key from, if the function returns one. */
export function defaultKeyFrom(key: () => string | undefined): void {
  const earlier = globals[DEFAULT_KEY];
  globals[DEFAULT_KEY] = () => key() ?? earlier?.();
}

/** The given key, that of the delivery which the current code handles, or a new one. crypto.randomUUID is not available on pages served without TLS. */
export function keyOf(options: CreateOptions): string {
  if (options.idempotencyKey !== undefined) return options.idempotencyKey;
  const ofContext = globals[DEFAULT_KEY]?.();
  if (ofContext !== undefined) return ofContext;
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
