/** A folder with a home, whose functions write a line to a file for each call. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Test } from "tap";
import type { Millrace } from "#sdk/client/index";

/** How a flow file of the folder imports `note` and `go`. */
export const CALLS = "./calls.js";

/** For flow files: `note` records a call, `go` waits for a file called "go". */
const CALLS_CODE = `
  import { appendFileSync, existsSync } from "node:fs";
  export const note = (text) => appendFileSync(new URL("calls.txt", import.meta.url), text + " " + process.pid + "\\n");
  export const go = async () => {
    while (!existsSync(new URL("go", import.meta.url))) await new Promise((resolve) => setTimeout(resolve, 20));
  };
`;

export interface Place {
  dir: string;
  home: string;
  /** The recorded calls, without the process. */
  calls(): string[];
  processes(): number[];
}

/** `code` may import `note` and `go` from CALLS. */
export function newPlace(t: Test, code: string): Place {
  const dir = mkdtempSync(join(tmpdir(), "millrace-code-"));
  const home = join(dir, ".home");
  mkdirSync(home);
  writeFileSync(join(dir, CALLS), CALLS_CODE);
  writeFileSync(join(dir, "code.ts"), code);
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const lines = (): string[] => {
    try {
      return readFileSync(join(dir, "calls.txt"), "utf8").trim().split("\n");
    } catch {
      return [];
    }
  };
  return {
    ...{ dir, home },
    calls: () => lines().map((line) => line.slice(0, line.lastIndexOf(" "))),
    processes: () => lines().map((line) => Number(line.slice(line.lastIndexOf(" ") + 1))),
  };
}

/** Polls until `look` returns a value; tap ends a test that waits too long. */
export async function until<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await pause(20);
  }
}

export async function ruleNamed(client: Millrace, name: string) {
  const rule = (await client.rules.list()).find((each) => each.name === name);
  if (rule === undefined) throw new Error(`there is no rule ${name}`);
  return rule;
}

/** The completed firings of a rule, once there are `count` of them. */
export async function firings(client: Millrace, name: string, count: number) {
  const { id } = await ruleNamed(client, name);
  return await until(async () => {
    const found = await client.rules.firings(id);
    return found.length >= count ? found : undefined;
  });
}
