/** A durable flow that does what its parameters describe: calls of every kind, one after the other, at once and inside others. */
import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { callback, child, childMap, flow, sleep, step, Type, task, WaitTimeout, waitForEvent, waitForInput } from "millrace";

interface Keyed {
  /** Unique within the program. */
  key: string;
}

/** A step that notes that it was done, and that its promise has resolved. */
export type NotedPart = Keyed &
  ({ kind: "step"; ms: number } | { kind: "flaky"; times: number } | { kind: "breaks"; times: number });

export type WaitPart = Keyed &
  (
    | { kind: "sleep"; ms: number }
    | { kind: "timeout"; ms: number }
    | { kind: "share"; times: number }
    | { kind: "event" }
    | { kind: "input" }
    | { kind: "callback" }
  );

export type ChildPart = Keyed &
  (
    | { kind: "child"; parts: Part[] }
    | { kind: "failing"; parts: Part[] }
    | { kind: "children"; parts: Part[] }
    | { kind: "plain" }
  );

export type BranchesPart = Keyed &
  (
    | { kind: "first"; parts: Part[] }
    | { kind: "all"; parts: Part[] }
    | { kind: "alike"; parts: Part[] }
    | { kind: "each"; parts: Part[] }
  );

/** One part of a program. */
export type Part =
  | NotedPart
  | WaitPart
  | ChildPart
  | BranchesPart
  | (Keyed & ({ kind: "twins"; times: number } | { kind: "nested"; times: number } | { kind: "caught" }));

const Program = Type.Object({ file: Type.String(), path: Type.String(), parts: Type.Array(Type.Unsafe<Part>({})) });
type Program = { file: string; path: string; parts: Part[] };
const OPTIONS = { durable: true, parameters: Program, crashRetries: 1_000_000 } as const;

/** Attempts of a call that its neighbours in the same file have noted. */
function noted(file: string, line: string): number {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((each) => each === line).length;
}

const flaky = task("flaky", { retries: 1_000, retryDelay: "0.02s" }, async (file: string, key: string, times: number) => {
  appendFileSync(file, `tried ${key}\n`);
  if (noted(file, `tried ${key}`) <= times) throw new Error(`not yet ${key}`);
  appendFileSync(file, `did ${key}\n`);
  return key;
});

const breaks = task("breaks", async (file: string, key: string, times: number) => {
  appendFileSync(file, `tried ${key}\n`);
  if (noted(file, `tried ${key}`) <= times) throw new Error(`not yet ${key}`);
  appendFileSync(file, `did ${key}\n`);
  return key;
});

const inner = task("inner", async (file: string, key: string, n: number) => {
  appendFileSync(file, `did ${key}-${n}\n`);
  await pause(20);
  return n;
});

const outer = task("outer", async (file: string, key: string, times: number) => {
  let sum = 0;
  for (let n = 0; n < times; n += 1) {
    sum += await inner(file, key, n);
    appendFileSync(file, `resolved ${key}-${n}\n`);
  }
  return sum;
});

const mend = task("mend", async (file: string) => {
  if (noted(file, "mended") === 0) throw new Error("a person has to mend this");
});

const sendUrl = task("send-url", async (file: string, key: string, url: string) => appendFileSync(file, `url ${key} ${url}\n`));

const won = task("won", async (file: string, key: string, value: unknown) => {
  appendFileSync(file, `won ${key} ${JSON.stringify(value)}\n`);
  return value;
});

class Interpreter {
  readonly #file: string;
  readonly #path: string;

  constructor({ file, path }: Program) {
    this.#file = file;
    this.#path = path;
  }

  async each(parts: readonly Part[]): Promise<unknown[]> {
    const results: unknown[] = [];
    for (const part of parts) results.push(await this.one(part));
    return results;
  }

  async one(part: Part): Promise<unknown> {
    const file = this.#file;
    const key = `${this.#path}/${part.key}`;
    switch (part.kind) {
      case "step":
      case "flaky":
      case "breaks":
        return await this.#noted(part, key);
      case "twins": {
        const values: number[] = [];
        for (let n = 0; n < part.times; n += 1) values.push(await step(`twin-${part.key}`, () => n));
        return values;
      }
      case "nested":
        return await outer(file, key, part.times);
      case "caught":
        try {
          await step(part.key, () => {
            throw new Error(part.key);
          });
          return "nothing was thrown";
        } catch (error) {
          return error instanceof Error ? error.message : error;
        }
      case "first":
      case "all":
      case "alike":
      case "each":
        return await this.#branches(part, key);
      case "child":
      case "plain":
      case "failing":
      case "children":
        return await this.#child(part, key);
      default:
        return await this.#wait(part, key);
    }
  }

  async #noted(part: NotedPart, key: string): Promise<unknown> {
    const file = this.#file;
    const done = async () => {
      if (part.kind === "flaky") return await flaky(file, key, part.times);
      if (part.kind === "breaks") return await breaks(file, key, part.times);
      return await step(part.key, async () => {
        appendFileSync(file, `did ${key}\n`);
        await pause(part.ms);
        return part.key;
      });
    };
    const value = await done();
    appendFileSync(file, `resolved ${key}\n`);
    return value;
  }

  async #branches({ kind, key: name, parts }: BranchesPart, key: string): Promise<unknown> {
    if (kind === "each") return await this.each(parts);
    if (kind === "all") return await Promise.all(parts.map((each) => this.one(each)));
    if (kind === "first") return await won(this.#file, key, await Promise.race(parts.map((each) => this.one(each))));
    // Branches that end with calls of one name, which are numbered in the order in which the branches get there.
    const branch = async (each: Part, n: number) => {
      await this.one(each);
      return await step(name, () => n);
    };
    return await Promise.all(parts.map(branch));
  }

  async #wait(part: WaitPart, key: string): Promise<unknown> {
    const where = { "payload.file": this.#file, "payload.key": key };
    switch (part.kind) {
      case "sleep":
        await sleep(part.ms / 1_000);
        return part.key;
      case "event":
        return ((await waitForEvent("go", { where })).payload as { value: string }).value;
      case "timeout":
        try {
          await waitForEvent("never", { where, timeout: `${part.ms}ms` });
          return "an event that nobody sent";
        } catch (error) {
          if (!(error instanceof WaitTimeout)) throw error;
          return part.key;
        }
      case "share": {
        const events = await Promise.all(Array.from({ length: part.times }, () => waitForEvent("shared", { where })));
        return events.map(({ payload }) => (payload as { value: number }).value).sort((a, b) => a - b);
      }
      case "input":
        return await waitForInput(`?${key}`, Type.String());
      case "callback": {
        const called = await callback<string>({ key: part.key });
        // Without the port, which is another one after a kill of the server.
        await sendUrl(this.#file, key, new URL(called.url).pathname);
        return await called.result();
      }
    }
  }

  async #child(part: ChildPart, path: string): Promise<unknown> {
    const file = this.#file;
    switch (part.kind) {
      case "child":
        return await child(program, { file, path, parts: part.parts }).run();
      case "plain":
        return await child(plain, { file, path, parts: [] }).run();
      case "failing":
        try {
          await child(failing, { file, path, parts: part.parts }).run();
          return "the child did not fail";
        } catch (error) {
          return error instanceof Error ? error.name : error;
        }
      case "children": {
        const parameters = part.parts.map((each, n) => ({ file, path: `${path}/${n}`, parts: [each] }));
        const results = await childMap(program, parameters, { concurrency: 2, settle: true });
        return results.map((result) => (result.status === "fulfilled" ? result.value : String(result.reason)));
      }
    }
  }
}

export const program = flow("program", { ...OPTIONS, retries: 1_000, retryDelay: "0.05s" }, async (given): Promise<unknown[]> => {
  appendFileSync(given.file, `began ${given.path}\n`);
  return await new Interpreter(given).each(given.parts);
});

/** Fails in the middle until a person has mended it and retries it. */
export const mended = flow("mended", OPTIONS, async (given): Promise<unknown[]> => {
  appendFileSync(given.file, `began ${given.path}\n`);
  const interpreter = new Interpreter(given);
  const middle = Math.ceil(given.parts.length / 2);
  const results = await interpreter.each(given.parts.slice(0, middle));
  await mend(given.file);
  return [...results, ...(await interpreter.each(given.parts.slice(middle)))];
});

export const failing = flow("failing", OPTIONS, async (given): Promise<unknown[]> => {
  appendFileSync(given.file, `began ${given.path}\n`);
  await new Interpreter(given).each(given.parts);
  throw new Error("as described");
});

export const plain = flow("plain", { parameters: Program, crashRetries: 1_000_000 }, async ({ path }) => {
  await pause(100);
  return path;
});
