/** The compiled command line as separate processes, including servers. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { mkdirSync, readFileSync, watch } from "node:fs";
import { join } from "node:path";
import type { Test } from "tap";
import { builtPath } from "./built-package.ts";

export interface Ended {
  code: number | null;
  out: string;
  errors: string;
}

export interface Started {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** Standard output so far. */
  text(): string;
  /** Standard error so far. */
  errors(): string;
  /** Resolves when standard output satisfies `wanted`; rejects when the process ends before that. */
  until(wanted: (text: string) => boolean): Promise<void>;
  printed(text: string): Promise<void>;
}

export interface StartOptions {
  env?: Record<string, string>;
  cwd?: string;
  stdin?: "ignore" | "pipe";
}

/** Starts `millrace` with these arguments and a minimal environment, on the transport under test. */
export function startCommand(args: readonly string[], { env = {}, cwd, stdin = "ignore" }: StartOptions = {}): Started {
  const kept = ["PATH", "HOME", "MILLRACE_TRANSPORT"].flatMap((name) => (name in process.env ? [[name, process.env[name]]] : []));
  const base = Object.fromEntries(kept) as Record<string, string>;
  const options: SpawnOptions = { env: { ...base, ...env }, stdio: [stdin, "pipe", "pipe"], ...(cwd !== undefined && { cwd }) };
  const child = spawn(process.execPath, [builtPath("cli/main"), ...args], options);
  const texts = { out: "", errors: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    texts.out += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    texts.errors += text;
  });
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, ...texts })));
  const until = (wanted: (text: string) => boolean) =>
    new Promise<void>((resolve, reject) => {
      const look = () => wanted(texts.out) && resolve();
      child.stdout?.on("data", look);
      ended.then(({ code, errors }) => reject(new Error(`ended with ${code}: ${errors}`)));
      look();
    });
  const printed = (text: string) => until((all) => all.includes(text));
  return { child, ended, text: () => texts.out, errors: () => texts.errors, until, printed };
}

/** Runs `millrace` to its end. */
export const millrace = (...args: string[]): Promise<Ended> => startCommand(args).ended;

export interface Serving extends Started {
  url: string;
}

/** Serves a folder without engines until the test ends; resolves once the start screen is printed. */
export async function serve(t: Test, dir: string, home: string, ...args: string[]): Promise<Serving> {
  const started = startCommand(["serve", dir, "--home", home, "--port", "0", "--no-open", "--no-engines", ...args]);
  await serving(t, started);
  return { ...started, url: await listening(started, home) };
}

/** Serves a folder with engine processes, from within it, until the test ends. */
export async function serveWithEngines(t: Test, dir: string, home: string, ...args: string[]): Promise<Serving> {
  const started = startCommand(["serve", dir, "--home", home, "--port", "0", "--no-open", ...args], { cwd: dir });
  await serving(t, started);
  t.teardown(async () => {
    started.child.kill("SIGTERM");
    await started.ended;
  });
  return { ...started, url: await listening(started, home) };
}

/** Resolves once the start screen of a server is printed; the server ends with the test. */
export async function serving(t: Test, started: Started): Promise<void> {
  t.teardown(() => started.child.kill("SIGKILL"));
  await started.printed("Stop it with");
}

/** Resolves with the address of a server once it listens on this home, which may be before its discovery has ended. */
export async function listening(
  started: { child: ChildProcess; ended: Promise<{ errors: string }> },
  home: string,
): Promise<string> {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const found = Promise.withResolvers<string>();
  const look = (): void => {
    const url = addressIn(home, started.child.pid);
    if (url !== null) found.resolve(url);
  };
  const watcher = watch(home, look);
  void started.ended.then(({ errors }) => found.reject(new Error(`the server ended: ${errors}`)));
  look();
  try {
    return await found.promise;
  } finally {
    watcher.close();
  }
}

/** The address that the discovery file holds; null while there is none of this process. */
function addressIn(home: string, pid: number | undefined): string | null {
  try {
    const found = JSON.parse(readFileSync(join(home, "server.json"), "utf8")) as { pid: number; url: string };
    return found.pid === pid ? found.url : null;
  } catch {
    return null;
  }
}
