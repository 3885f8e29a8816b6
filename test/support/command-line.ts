/** The command line as separate processes, including a server. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

export interface Ended {
  code: number | null;
  out: string;
  errors: string;
}

export interface Launched {
  child: ChildProcess;
  ended: Promise<Ended>;
}

/** Starts `millrace` with these arguments and a minimal environment. */
export function launch(args: readonly string[], env: Record<string, string> = {}, cwd?: string): Launched {
  const base = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
  const command = ["--conditions=millrace-src", MAIN, ...args];
  const child = spawn(process.execPath, command, { env: { ...base, ...env }, cwd, stdio: ["ignore", "pipe", "pipe"] });
  const texts = { out: "", errors: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    texts.out += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    texts.errors += text;
  });
  return { child, ended: once(child, "close").then(([code]) => ({ code: code as number | null, ...texts })) };
}

/** Runs `millrace` to its end. */
export const millrace = (...args: string[]): Promise<Ended> => launch(args).ended;

/** Serves a folder without engines until the test ends; resolves once the start screen is printed. */
export async function serve(t: Test, dir: string, home: string, ...args: string[]): Promise<Launched> {
  const started = launch(["serve", dir, "--home", home, "--port", "0", "--no-open", "--no-engines", ...args]);
  await serving(t, started);
  return started;
}

/** Resolves once the start screen of a server is printed; the server ends with the test. */
export async function serving(t: Test, started: Launched): Promise<void> {
  t.teardown(() => started.child.kill("SIGKILL"));
  const gone = started.ended.then(({ errors }) => Promise.reject(new Error(errors)));
  gone.catch(() => undefined);
  let printed = "";
  while (!printed.includes("Stop it with")) {
    const [text] = (await Promise.race([once(started.child.stdout ?? started.child, "data"), gone])) as [string];
    printed += text;
  }
}
