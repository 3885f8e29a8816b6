/** Variables as user code gets and sets them, and how they are kept by a server. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openText, parseKey, SECRET_KEY_FILE } from "#protocol/sealed-text";
import { MillraceError } from "./client/error.ts";
import type { Millrace } from "./client/index.ts";
import { patiently } from "./patience.ts";

export interface SetVariableOptions {
  /** Encrypted at rest and masked wherever it is shown. Default: what it was before, else false. */
  secret?: boolean;
  tags?: readonly string[];
}

export interface VariableStore {
  /** The value, in a box because null is a value; null when there is no such variable. */
  get(name: string): Promise<{ value: unknown } | null>;
  set(name: string, value: unknown, options: SetVariableOptions): Promise<void>;
  /** False when there was none. */
  remove(name: string): Promise<boolean>;
}

export class ServerVariables implements VariableStore {
  readonly #client: () => Promise<Millrace>;
  readonly #home: string;
  readonly #signal: AbortSignal | undefined;

  /** @param home directory with the key of secrets */
  constructor(client: () => Promise<Millrace>, home: string, signal?: AbortSignal) {
    this.#client = client;
    this.#home = home;
    this.#signal = signal;
  }

  async get(name: string): Promise<{ value: unknown } | null> {
    const client = await this.#client();
    const { value, secret, raw } = await patiently(() => client.variables.get(name, { raw: true }), this.#signal).catch(ifMissing);
    return secret === undefined ? null : { value: secret ? this.#open(name, raw) : value };
  }

  async set(name: string, value: unknown, options: SetVariableOptions): Promise<void> {
    const client = await this.#client();
    const tags = options.tags === undefined ? undefined : [...options.tags];
    const body = { name, value, secret: options.secret, tags };
    await patiently(() => client.variables.set(body), this.#signal);
  }

  async remove(name: string): Promise<boolean> {
    const client = await this.#client();
    const removed = patiently(() => client.variables.delete(name), this.#signal).then(() => ({ secret: false }));
    return (await removed.catch(ifMissing)).secret !== undefined;
  }

  /** The server never shows a secret, so it is opened here, with the key of the home. */
  #open(name: string, sealed: string | undefined): unknown {
    const path = join(this.#home, SECRET_KEY_FILE);
    const key = readKey(path);
    if (key === null) {
      throw new Error(`variable "${name}" is secret and there is no key in ${path}: only code on the server's machine can read it`);
    }
    const text = sealed === undefined ? null : openText(key, sealed);
    if (text === null) throw new Error(`variable "${name}" was encrypted with another key than that of ${path}`);
    return JSON.parse(text) as unknown;
  }
}

function readKey(path: string): Buffer | null {
  try {
    return parseKey(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}

function ifMissing(error: unknown): { value?: unknown; secret?: undefined; raw?: undefined } {
  if (error instanceof MillraceError && error.status === 404) return {};
  throw error;
}
