/** The command line as a separate process. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

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
  /** Resolves when standard output satisfies `wanted`; rejects when the process ends before that. */
  until(wanted: (text: string) => boolean): Promise<void>;
  printed(text: string): Promise<void>;
}

export function startCommand(args: readonly string[]): Started {
  const env: NodeJS.ProcessEnv = { PATH: process.env["PATH"], HOME: process.env["HOME"] };
  const child = spawn(process.execPath, ["--conditions=millrace-src", MAIN, ...args], { env, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let errors = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, out, errors })));
  const until = (wanted: (text: string) => boolean) =>
    new Promise<void>((resolve, reject) => {
      const look = () => wanted(out) && resolve();
      child.stdout?.on("data", look);
      ended.then((end) => reject(new Error(`ended with ${end.code}: ${end.errors}`)));
      look();
    });
  return { child, ended, text: () => out, until, printed: (text) => until((all) => all.includes(text)) };
}

export function millrace(...args: string[]): Promise<Ended> {
  return startCommand(args).ended;
}
