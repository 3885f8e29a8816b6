/** A keeper with its user-code process, for a test's files. */
import type { Test } from "tap";
import type { CallOutcome, UserCall } from "#actors/user-code/user-code-calls";
import { UserCodeKeeper } from "#server/user-code/keeper";
import { testFolder } from "./test-folder.ts";

export interface Kept {
  keeper: UserCodeKeeper;
  lines: string[];
  printed: string[];
  dir: string;
  call(name: string, limitMs?: number): Promise<CallOutcome>;
}

/** Discovers the files; `call` calls a rule of code.ts. */
export async function keep(t: Test, files: Record<string, string>, heapMb = 512, blockedMs = 30_000): Promise<Kept> {
  const dir = testFolder(t, files);
  const lines: string[] = [];
  const printed: string[] = [];
  const print = (text: string): void => void printed.push(text);
  const complain = (line: string): void => void lines.push(line);
  const env = { ...process.env, NODE_OPTIONS: "" };
  const execArgv = ["--conditions=millrace-src"];
  const keeper = new UserCodeKeeper({ dir, env, execArgv, heapMb, blockedMs, print, complain });
  t.teardown(() => keeper.stop());
  await keeper.discover();
  const call = (name: string, limitMs = 60_000): Promise<CallOutcome> => {
    const rule: UserCall = { type: "rule", module: "code.ts", name, event: { id: 1 }, run: null };
    return keeper.call(rule, limitMs);
  };
  return { keeper, lines, printed, dir, call };
}
