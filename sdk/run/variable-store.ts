/** Variables as user code reads and writes them, and their store on a server. */
import { openText } from "#protocol/values/sealed-text";
import { readSecretKey, SECRET_KEY_FILE_VARIABLE, SECRET_KEY_VARIABLE, secretKeySource } from "#protocol/values/secret-key";
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

  /** The server masks secrets, so a secret is decrypted here with the key. */
  #open(name: string, sealed: string | undefined): unknown {
    const source = secretKeySource(this.#home, process.env);
    const key = readSecretKey(source);
    if (key === null) {
      const advice = `give it to this code in ${SECRET_KEY_VARIABLE} or ${SECRET_KEY_FILE_VARIABLE}`;
      throw new Error(`variable "${name}" is secret and there is no key in ${source.name}: ${advice}`);
    }
    const text = sealed === undefined ? null : openText(key, sealed);
    if (text === null) throw new Error(`variable "${name}" was encrypted with another key than that of ${source.name}`);
    return JSON.parse(text) as unknown;
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
