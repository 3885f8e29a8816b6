/**
 * The form of a secret at rest: `v1:` and base64 of nonce (12 bytes), ciphertext and tag (16 bytes) of ChaCha20-Poly1305 under
 * the 32 bytes of `secret.key`, which that file holds as base64. Clients with access to the file decrypt secrets themselves, so
 * neither form can change. A changed bit anywhere makes a sealed text unreadable.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";

export const SECRET_KEY_FILE = "secret.key";
export const SECRET_KEY_BYTES = 32;
export const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = "chacha20-poly1305";
const PREFIX = "v1:";

/** The key in the text of a key file, or null for an invalid text. */
export function parseKey(text: string): Buffer | null {
  const key = Buffer.from(text.trim(), "base64");
  return key.length === SECRET_KEY_BYTES ? key : null;
}

/** @param nonce random bytes that were never used with this key */
export function sealText(key: Buffer, nonce: Buffer, text: string): string {
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return `${PREFIX}${sealed.toString("base64")}`;
}

/** The text, or null if the key does not match or the sealed text was changed. */
export function openText(key: Buffer, sealed: string): string | null {
  const bytes = Buffer.from(sealed.slice(PREFIX.length), "base64");
  if (!sealed.startsWith(PREFIX) || bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
    const middle = bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES);
    return Buffer.concat([decipher.update(middle), decipher.final()]).toString("utf8");
  } catch {
    return null;
  }
}
