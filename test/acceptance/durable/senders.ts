/** People and other services for random programs: they send the events, answers and requests that the programs wait for. */
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { type Millrace, MillraceError } from "#sdk/client/index";
import type { Random } from "../../sim/random.ts";
import type { Part } from "../durable-flows/program.ts";
import { eventsOf, runsOf, sentTo } from "./random-program.ts";

const LOOK_MS = 100;
/** A message comes at a random time within this. */
const SEND_WITHIN_MS = 3_000;

export class Senders {
  readonly #client: () => Millrace;
  readonly #random: Random;
  readonly #files: { path: string; runs: ReadonlyMap<string, readonly Part[]>; read: number }[];
  readonly #seen = new Set<string>();
  readonly #retried = new Set<number>();
  readonly #sending = new Set<Promise<void>>();
  #stopped = false;

  /** @param client of the server that runs now */
  constructor(client: () => Millrace, programs: readonly { file: string; parts: readonly Part[] }[], random: Random) {
    this.#client = client;
    this.#random = random;
    this.#files = programs.map(({ file, parts }) => ({ path: file, runs: new Map(runsOf(parts)), read: 0 }));
  }

  async run(): Promise<void> {
    while (!this.#stopped) {
      for (const file of this.#files) this.#readNotes(file);
      await this.#answerQuestions();
      await this.#retryFailed();
      await pause(LOOK_MS);
    }
    await Promise.all(this.#sending);
  }

  stop(): void {
    this.#stopped = true;
  }

  #readNotes(file: { path: string; runs: ReadonlyMap<string, readonly Part[]>; read: number }): void {
    const text = readFileSync(file.path, "utf8");
    const end = text.lastIndexOf("\n") + 1;
    for (const line of text.slice(file.read, end).split("\n")) {
      if (this.#seen.has(`${file.path} ${line}`)) continue;
      const [what, key = "", url = ""] = line.split(" ");
      if (what !== "began" && what !== "url") continue;
      this.#seen.add(`${file.path} ${line}`);
      if (what === "url") this.#later((client) => client.runs.answerCallback(url.split("/").at(-1) ?? "", sentTo(key)));
      else
        for (const [n, event] of eventsOf(file.runs.get(key) ?? [], key).entries())
          this.#emit(`${file.path} ${key} ${n}`, file.path, event);
    }
    file.read = end;
  }

  #emit(idempotencyKey: string, file: string, { name, key, value }: { name: string; key: string; value: unknown }): void {
    this.#later(async (client) => {
      await client.events.emit({ name, payload: { file, key, value } }, { idempotencyKey });
    });
  }

  #later(send: (client: Millrace) => Promise<void>): void {
    const sent = (async () => {
      await pause(this.#random.below(SEND_WITHIN_MS));
      while (!this.#stopped) {
        try {
          return await send(this.#client());
        } catch (error) {
          // A callback that was answered, and whose answer was lost.
          if (error instanceof MillraceError && error.status === 404) return;
          await pause(LOOK_MS);
        }
      }
    })();
    this.#sending.add(sent);
    void sent.then(() => this.#sending.delete(sent));
  }

  async #retryFailed(): Promise<void> {
    try {
      const client = this.#client();
      for await (const { id, flow_name, parameters } of client.runs.list({ states: ["Failed"] }, { pageSize: 200 })) {
        if (flow_name !== "mended" || this.#retried.has(id)) continue;
        appendFileSync(String(parameters["file"]), "mended\n");
        await client.runs.retry(id, { idempotencyKey: `retry ${id}` });
        this.#retried.add(id);
      }
    } catch {
      // The server has been killed.
    }
  }

  async #answerQuestions(): Promise<void> {
    try {
      const client = this.#client();
      for await (const { id, state } of client.runs.list({ state_type: "Paused" }, { pageSize: 200 })) {
        const prompt = state.details?.["prompt"];
        if (typeof prompt !== "string" || !this.#random.chance(0.1)) continue;
        await client.runs.resume(id, sentTo(prompt.slice(1)));
      }
    } catch {
      // The server has been killed, or the run has been moved since.
    }
  }
}
