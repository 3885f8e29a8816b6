/** Runs a script with the compiled package as a user does: `node file.ts`, with a separate home. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { builtPath } from "./built-package.ts";

export interface ScriptEnd {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface ScriptProcess {
  child: ChildProcess;
  ended: Promise<ScriptEnd>;
  /** Resolves once this text was written to standard error. */
  said(text: string): Promise<void>;
}

export function startScript(path: string, home: string, ...args: string[]): ScriptProcess {
  builtPath("sdk/index");
  const env = { ...process.env, MILLRACE_HOME: home };
  const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "pipe"], env });
  const written = { stdout: "", stderr: "" };
  child.stdout.on("data", (text: Buffer) => {
    written.stdout += text.toString();
  });
  child.stderr.on("data", (text: Buffer) => {
    written.stderr += text.toString();
  });
  return {
    child,
    ended: once(child, "close").then(([code]) => ({ code: code as number | null, ...written })),
    async said(text) {
      while (!written.stderr.includes(text)) {
        const closed = await Promise.race([once(child.stderr, "data").then(() => false), once(child, "close").then(() => true)]);
        if (closed && !written.stderr.includes(text)) throw new Error(`the script ended without "${text}": ${written.stderr}`);
      }
    },
  };
}

/** Runs a script to its end. */
export async function runScript(path: string, home: string, ...args: string[]): Promise<ScriptEnd> {
  return await startScript(path, home, ...args).ended;
}
