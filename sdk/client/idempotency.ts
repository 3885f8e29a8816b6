/** Makes creations safe to resend. */

export interface CreateOptions {
  /**
   * Two creations with one key create one record (for 24 hours). Every creation has a key, by default a new one, so it is
   * resent when its answer was lost. Your own key also covers a restart of your program.
   */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

const KEY_BYTES = 16;

/** The given key, or a new one. crypto.randomUUID is not available on pages served without TLS. */
export function keyOf(options: CreateOptions): string {
  if (options.idempotencyKey !== undefined) return options.idempotencyKey;
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
