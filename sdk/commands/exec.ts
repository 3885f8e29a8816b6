import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import type { Readable } from "node:stream";
import { type Duration, parseDuration } from "../define/duration.ts";
import { never } from "../durable/suspension.ts";
import { currentScope, currentSignal, isLeftBehind, type Scope } from "../execution/active-run.ts";
import { shared } from "../execution/shared-state.ts";
import { ChildOutput } from "../output/child-output.ts";
import type { PrintedLines, StreamName } from "../output/printed-lines.ts";
import { type CommandEnd, CommandError } from "./command-error.ts";
import { endTree, isGroupLeft } from "./command-tree.ts";
import { OutputTail } from "./output-tail.ts";
import { shellWord } from "./shell-text.ts";

/** Options of `exec`. */
export interface CommandOptions {
  /** Working directory. Default: that of the process. */
  cwd?: string;
  /** Environment variables beside those of the process; `undefined` removes one. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Time limit; the command is then ended and the call fails with a CommandError. Default: that of the task and the run. */
  timeout?: Duration;
  /** Exit codes of success: one, a list, or "any". Default 0. */
  ok?: number | readonly number[] | "any";
  /** Standard input. Default: none. */
  input?: string | Uint8Array;
  /** Lines of output become log lines of the run while the command runs. Default: the option `logPrints` of the flow. */
  log?: boolean;
}

/** A command that succeeded. */
export interface CommandResult {
  /** Its exit code. */
  code: number;
  /** The last 65,536 bytes of the standard output. */
  stdout: string;
  /** The last 65,536 bytes of the standard error. */
  stderr: string;
  /** Bytes of the whole standard output. */
  stdoutBytes: number;
  /** Bytes of the whole standard error. */
  stderrBytes: number;
}

/** Level of an entry in `ok` beyond which no process can end. */
const CODE_MAX = 255;

/**
 * Runs a program and waits for its end. No shell takes part: each argument reaches the program as it is. Lines of its output go
 * to the log of the run at once. When the run or the task is stopped, the program ends with all processes it started: SIGTERM,
 * and SIGKILL after 3 s.
 * @throws CommandError if it cannot be started, or ends by a signal or with a code that `ok` does not allow
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { exec, flow } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const print = flow("print", async () => (await exec("printf", ["%s", "$HOME; two words"])).stdout);
 *
 * const { result } = await runFlow(print);
 * assert.equal(result, "$HOME; two words");
 * ```
 */
export async function exec(
  file: string,
  args: readonly (string | number)[] = [],
  options: CommandOptions = {},
): Promise<CommandResult> {
  if (typeof file !== "string" || file === "") throw new TypeError("exec(file, args?, options?) needs the name of a program");
  if (!Array.isArray(args)) throw new TypeError("the arguments of exec(file, args?, options?) are a list");
  const texts = args.map((arg: unknown) => {
    if (typeof arg === "string" || typeof arg === "number") return String(arg);
    throw new TypeError(`an argument of exec("${file}") must be a text or a number, not ${arg === null ? "null" : typeof arg}`);
  });
  return await runCommand(file, texts, options, [file, ...texts].map(shellWord).join(" "));
}

/** @param command as messages name it */
export async function runCommand(
  file: string,
  args: readonly string[],
  options: CommandOptions,
  command: string,
): Promise<CommandResult> {
  const limitMs = options.timeout === undefined ? null : parseDuration(options.timeout) * 1000;
  const isOk = successOf(options.ok ?? 0);
  if (isLeftBehind()) return await never();
  const signal = currentSignal();
  signal.throwIfAborted();
  const running = new RunningCommand(file, args, options, command);
  return await running.end(signal, limitMs, isOk);
}

function successOf(ok: number | readonly number[] | "any"): (code: number) => boolean {
  if (ok === "any") return () => true;
  const codes = typeof ok === "number" ? [ok] : ok;
  if (!Array.isArray(codes) || !codes.every((code) => Number.isInteger(code) && code >= 0 && code <= CODE_MAX))
    throw new RangeError(`ok takes exit codes from 0 to ${CODE_MAX}, or "any"`);
  return (code) => codes.includes(code);
}

class RunningCommand {
  readonly #command: string;
  readonly #scope: Scope | undefined = currentScope();
  readonly #pid: number | undefined;
  readonly #outputs: { stdout: ReadOutput; stderr: ReadOutput };
  readonly #exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  readonly #file: string;
  readonly #cwd: string | undefined;

  constructor(file: string, args: readonly string[], { cwd, env, input, log }: CommandOptions, command: string) {
    this.#command = command;
    this.#file = file;
    this.#cwd = cwd;
    const child = spawn(file, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, ...env },
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
      // A process group of its own, which a signal reaches as a whole.
      detached: true,
    });
    this.#pid = child.pid;
    if (child.pid !== undefined) this.#scope?.run.commands.add(child.pid);
    const read = (name: StreamName) => new ReadOutput(child[name] as Readable, name, this.#scope, log);
    this.#outputs = { stdout: read("stdout"), stderr: read("stderr") };
    this.#exited = new Promise((resolve, reject) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
      child.once("error", reject);
    });
    // A program may end before it has read its input.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input);
  }

  /** @throws the reason of the signal, if it aborts before the end */
  async end(signal: AbortSignal, limitMs: number | null, isOk: (code: number) => boolean): Promise<CommandResult> {
    const stop = this.#stopper(signal, limitMs);
    try {
      const exit = await this.#exited.catch((error: unknown) => this.#notStarted(error));
      await stop.ended();
      if (signal.aborted && stop.by === "signal") throw signal.reason;
      await Promise.all([this.#outputs.stdout.complete(), this.#outputs.stderr.complete()]);
      return this.#result(exit, stop.by === "timeout" ? limitMs : null, isOk);
    } finally {
      stop.disarm();
      for (const output of Object.values(this.#outputs)) output.close();
      if (this.#pid !== undefined && !isGroupLeft(this.#pid)) this.#scope?.run.commands.delete(this.#pid);
    }
  }

  #stopper(signal: AbortSignal, limitMs: number | null) {
    let ending: Promise<void> | null = null;
    const stop = (by: "signal" | "timeout") => {
      if (ending !== null || this.#pid === undefined) return;
      stopper.by = by;
      ending = endTree(this.#pid);
    };
    const onAbort = () => stop("signal");
    const timer = limitMs === null ? undefined : setTimeout(stop, limitMs, "timeout");
    signal.addEventListener("abort", onAbort, { once: true });
    const stopper = {
      by: null as "signal" | "timeout" | null,
      ended: async () => {
        clearTimeout(timer);
        await ending;
      },
      disarm: () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", onAbort);
      },
    };
    return stopper;
  }

  #result(
    { code, signal }: { code: number | null; signal: NodeJS.Signals | null },
    timedOutMs: number | null,
    isOk: (code: number) => boolean,
  ): CommandResult {
    const { stdout, stderr } = this.#outputs;
    const texts = { stdout: stdout.tail.text, stderr: stderr.tail.text };
    if (timedOutMs === null && code !== null && isOk(code))
      return { code, ...texts, stdoutBytes: stdout.tail.bytes, stderrBytes: stderr.tail.bytes };
    const end: CommandEnd = { command: this.#command, code, signal, timedOut: timedOutMs !== null, ...texts };
    const how =
      timedOutMs !== null
        ? `timed out after ${timedOutMs / 1000} s`
        : code === null
          ? `was ended by ${signal}`
          : `ended with code ${code}`;
    throw new CommandError(how, end);
  }

  #notStarted(error: unknown): never {
    const end = { command: this.#command, code: null, signal: null, timedOut: false, stdout: "", stderr: "" };
    const { code, message } = error as NodeJS.ErrnoException;
    const missing = this.#cwd !== undefined && statSync(this.#cwd, { throwIfNoEntry: false })?.isDirectory() !== true;
    const why = missing
      ? `the directory ${this.#cwd} does not exist`
      : code === "ENOENT"
        ? `there is no program ${this.#file}`
        : message;
    throw new CommandError(`could not be started: ${why}`, end, { cause: error });
  }
}

/** One output of a command: its end is kept, its lines are logged; outside a run they are printed. */
class ReadOutput {
  readonly tail = new OutputTail();
  readonly #scope: Scope | undefined;
  readonly #lines: PrintedLines | null = null;
  readonly #output: ChildOutput;

  constructor(stream: Readable, name: StreamName, scope: Scope | undefined, log: boolean | undefined) {
    this.#scope = scope;
    if (log ?? scope?.run.logPrints) this.#lines = scope?.run.printed.open(scope, name) ?? null;
    const prints = scope === undefined && log !== false;
    this.#output = new ChildOutput(stream, shared.gauges, (chunk) => {
      this.tail.add(chunk);
      this.#lines?.write(chunk);
      if (prints) process[name].write(chunk);
    });
  }

  async complete(): Promise<void> {
    await this.#output.complete();
  }

  /** Ends the last line. */
  close(): void {
    if (this.#lines !== null) this.#scope?.run.printed.close(this.#lines);
  }
}
