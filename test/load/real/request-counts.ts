/**
 * Counts the requests of the engines of a server. A module that Node loads into each of its processes counts the requests of
 * an engine's control thread as they are sent, and writes the number into a file named like the process.
 */
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const COUNTER = new URL("./request-counter.ts", import.meta.url).href;

export class RequestCounts {
  readonly #folder: string;

  constructor(folder: string) {
    mkdirSync(folder);
    this.#folder = folder;
  }

  /** For the server, which hands it on to its engines. */
  get environment(): Record<string, string> {
    return { NODE_OPTIONS: `--no-warnings --import=${COUNTER}`, LOAD_REQUESTS_FOLDER: this.#folder };
  }

  total(): number {
    return readdirSync(this.#folder).reduce((sum, name) => sum + Number(readFileSync(join(this.#folder, name), "utf8")), 0);
  }
}
