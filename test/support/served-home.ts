/** A home and the server process on it, started and killed by a test. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { listening, type Started, startCommand } from "./command-line.ts";

const LOOK_AGAIN_MS = 20;

/** Polls until there is a result; tap ends a test that waits too long. */
export async function until<T>(look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    await pause(LOOK_AGAIN_MS);
  }
}

export interface Answer<T> {
  status: number;
  text: string;
  /** The answer as an object, and as a list. */
  body: Record<string, unknown>;
  list: T[];
}

export class ServedProcess {
  readonly url: string;
  /** Sent with each call. */
  token: string | null = null;
  readonly #started: Started;

  constructor(started: Started, url: string) {
    this.url = url;
    this.#started = started;
  }

  get child(): Started["child"] {
    return this.#started.child;
  }

  /** Output of the process so far. */
  get output(): string {
    return this.#started.text() + this.#started.errors();
  }

  async call<T = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
    const text = body === undefined ? null : JSON.stringify(body);
    const authorization = this.token === null ? {} : { authorization: `Bearer ${this.token}` };
    const headers = { "content-type": "application/json", ...authorization };
    const answer = await fetch(`${this.url}${path}`, { method, headers, body: text });
    const received = await answer.text();
    const parsed: unknown = received === "" ? null : JSON.parse(received);
    return { status: answer.status, text: received, body: parsed as Record<string, unknown>, list: parsed as T[] };
  }

  residentBytes(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, "latin1");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024;
  }

  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.kill(signal);
    await ended;
  }
}

export class ServedHome {
  readonly path = mkdtempSync(join(tmpdir(), "millrace-served-"));
  #server: ServedProcess | null = null;

  /** Settings for the first start: the text of `millrace.toml`. */
  configure(settings: string): void {
    // A folder with files is a home only with this one.
    writeFileSync(join(this.path, "db.lock"), "");
    writeFileSync(join(this.path, "millrace.toml"), settings);
  }

  /** Starts a server on a free port, without engines, and waits until it listens. */
  async serve(...options: string[]): Promise<ServedProcess> {
    const { path } = this;
    const args = ["serve", path, "--home", path, "--port", "0", "--no-open", "--no-engines", ...options];
    const started = startCommand(args);
    this.#server = new ServedProcess(started, await listening(started, path));
    return this.#server;
  }

  async remove(): Promise<void> {
    await this.#server?.kill();
    rmSync(this.path, { recursive: true, force: true });
  }
}
