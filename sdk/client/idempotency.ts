/** Making creations safe to send again. */

export interface CreateOptions {
  /**
   * Two creations with one key make one record (for 24 hours). Every creation has a key, of its own by default, so it is sent
   * again when its answer was lost; your own key also covers a program that is started again.
   */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

const KEY_BYTES = 16;

/** The key given, or a new one. crypto.randomUUID would be missing on pages that are served without TLS. */
export function keyOf(options: CreateOptions): string {
  if (options.idempotencyKey !== undefined) return options.idempotencyKey;
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
