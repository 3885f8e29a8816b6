/** Encryption of secret variables; the formats are in protocol/values/sealed-text.ts. */
import { createHmac, randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, openSync, writeSync } from "node:fs";
import { NONCE_BYTES, openText, SECRET_KEY_BYTES, sealText } from "#protocol/values/sealed-text";
import { readSecretKey, type SecretKeySource } from "#protocol/values/secret-key";

/** Readable by the owner only. */
const KEY_MODE = 0o600;

export class SecretBox {
  readonly #source: SecretKeySource;
  #key: Buffer | null = null;

  /**
   * The key is read at first use. A key file in the home is created when the first secret is sealed or the first text signed; a
   * key that the environment names is only read.
   */
  constructor(source: SecretKeySource) {
    this.#source = source;
  }

  /** Where the key is, for messages. */
  get place(): string {
    return this.#source.name;
  }

  get present(): boolean {
    return this.#source.text !== null || existsSync(this.#source.path);
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
    this.#key ??= readSecretKey(this.#source);
    return this.#key;
  }

  /** Fails when the file exists: a key that cannot be read is never replaced. */
  #makeKey(): Buffer {
    if (!this.#source.inHome) throw new Error(`${this.#source.name} holds no key of secrets: 32 bytes as base64`);
    const key = randomBytes(SECRET_KEY_BYTES);
    const file = openSync(this.#source.path, "wx", KEY_MODE);
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
