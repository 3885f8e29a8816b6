/** Variables as user code reads and writes them, and their store on a server. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openText, parseKey, SECRET_KEY_FILE } from "#protocol/values/sealed-text";
import { MillraceError } from "../client/error.ts";
import type { Millrace } from "../client/index.ts";

/** Options of `variable.set`. */
export interface SetVariableOptions {
  /** Encrypted at rest and masked wherever it is shown. Default: as before, else false. */
  secret?: boolean;
  /** Tags of the variable. Default: as before, else none. */
  tags?: readonly string[];
}

export interface VariableStore {
  /** The value, boxed because null is a value; null if there is no such variable. */
  get(name: string): Promise<{ value: unknown; secret?: boolean } | null>;
  set(name: string, value: unknown, options: SetVariableOptions): Promise<void>;
  /** False if there was none. */
  remove(name: string): Promise<boolean>;
}

type Ask = <T>(request: () => Promise<T>) => Promise<T>;

export class ServerVariables implements VariableStore {
  readonly #client: () => Promise<Millrace>;
  readonly #home: string;
  readonly #ask: Ask;

  /**
   * @param home directory with the key of secrets
   * @param ask sends a request that may be repeated: with more or less patience
   */
  constructor(client: () => Promise<Millrace>, home: string, ask: Ask = (request) => request()) {
    this.#client = client;
    this.#home = home;
    this.#ask = ask;
  }

  async get(name: string): Promise<{ value: unknown; secret: boolean } | null> {
    const client = await this.#client();
    const found = await this.#ask(() => orMissing(client.variables.get(name, { raw: true })));
    if (found === null) return null;
    const { secret } = found;
    return { value: secret ? this.#open(name, found.raw) : found.value, secret };
  }

  async set(name: string, value: unknown, options: SetVariableOptions): Promise<void> {
    const client = await this.#client();
    const tags = options.tags === undefined ? undefined : [...options.tags];
    const body = { name, value, secret: options.secret, tags };
    await this.#ask(() => client.variables.set(body));
  }

  async remove(name: string): Promise<boolean> {
    const client = await this.#client();
    const removed = () => orMissing(client.variables.delete(name).then(() => true));
    return (await this.#ask(removed)) ?? false;
  }

  /** The server masks secrets, so a secret is decrypted here with the key of the home. */
  #open(name: string, sealed: string | undefined): unknown {
    const path = join(this.#home, SECRET_KEY_FILE);
    const key = readKey(path);
    if (key === null) {
      throw new Error(
        `variable "${name}" is secret and there is no key in ${path}: only code on the server's machine can read it`,
      );
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

/** The answer, or null for 404. */
async function orMissing<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof MillraceError && error.status === 404) return null;
    throw error;
  }
}
