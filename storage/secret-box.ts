/**
 * Encryption of secret variables: ChaCha20-Poly1305 under a key of 32 random bytes in `secret.key` of the home.
 *
 * A sealed text is `v1:` and base64 of nonce (12 bytes), ciphertext and tag (16 bytes). Clients that hold the key file open it
 * themselves, so neither form can change. A changed bit anywhere makes it unreadable.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = "chacha20-poly1305";
const PREFIX = "v1:";
/** Readable by the owner alone. */
const KEY_MODE = 0o600;

export class SecretBox {
  readonly #path: string;
  #key: Buffer | null = null;

  /** `path` of the key file; it is read at the first use and made when the first secret is sealed. */
  constructor(path: string) {
    this.#path = path;
  }

  get present(): boolean {
    return existsSync(this.#path);
  }

  seal(text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#readKey() ?? this.#makeKey(), nonce, { authTagLength: TAG_BYTES });
    const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `${PREFIX}${sealed.toString("base64")}`;
  }

  /** The text, or null when the key is missing or another one, or the sealed text was changed. */
  open(sealed: string): string | null {
    const key = this.#readKey();
    const bytes = Buffer.from(sealed.slice(PREFIX.length), "base64");
    if (key === null || !sealed.startsWith(PREFIX) || bytes.length < NONCE_BYTES + TAG_BYTES) return null;
    try {
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
      const middle = bytes.subarray(NONCE_BYTES, bytes.length - TAG_BYTES);
      return Buffer.concat([decipher.update(middle), decipher.final()]).toString("utf8");
    } catch {
      return null;
    }
  }

  #readKey(): Buffer | null {
    if (this.#key !== null) return this.#key;
    if (!this.present) return null;
    const key = Buffer.from(readFileSync(this.#path, "utf8").trim(), "base64");
    if (key.length === KEY_BYTES) this.#key = key;
    return this.#key;
  }

  /** Fails when there is a file already: a key that cannot be read is never replaced. */
  #makeKey(): Buffer {
    const key = randomBytes(KEY_BYTES);
    const file = openSync(this.#path, "wx", KEY_MODE);
    try {
      writeSync(file, key.toString("base64"));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    this.#key = key;
    return key;
  }
}
