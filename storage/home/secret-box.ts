/** Encryption of secret variables with the key file of the home; the formats are in protocol/values/sealed-text.ts. */
import { createHmac, randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { NONCE_BYTES, openText, parseKey, SECRET_KEY_BYTES, sealText } from "#protocol/values/sealed-text";

/** Readable by the owner only. */
const KEY_MODE = 0o600;

export class SecretBox {
  readonly #path: string;
  #key: Buffer | null = null;

  /** `path` of the key file; it is read at first use and created when the first secret is sealed or the first text signed. */
  constructor(path: string) {
    this.#path = path;
  }

  get present(): boolean {
    return existsSync(this.#path);
  }

  seal(text: string): string {
    return sealText(this.#readKey() ?? this.#makeKey(), randomBytes(NONCE_BYTES), text);
  }

  /** The text, or null when the key is missing or a different one, or the sealed text was changed. */
  open(sealed: string): string | null {
    const key = this.#readKey();
    return key === null ? null : openText(key, sealed);
  }

  /** HMAC-SHA256 of the text; null when the key file holds no key. */
  sign(text: string): string | null {
    const key = this.#readKey() ?? (this.present ? null : this.#makeKey());
    return key === null ? null : createHmac("sha256", key).update(text).digest("base64url");
  }

  #readKey(): Buffer | null {
    if (this.#key === null && this.present) this.#key = parseKey(readFileSync(this.#path, "utf8"));
    return this.#key;
  }

  /** Fails when the file exists: a key that cannot be read is never replaced. */
  #makeKey(): Buffer {
    const key = randomBytes(SECRET_KEY_BYTES);
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
