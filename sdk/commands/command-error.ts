/** Lines and characters of the standard error that the message of a CommandError holds: it is shown in lists. */
const MESSAGE_LINES_MAX = 10;
const MESSAGE_CHARS_MAX = 2_000;

/** Characters of the command in a message. */
const COMMAND_CHARS_MAX = 200;

/** How a command ended that did not succeed. */
export interface CommandEnd {
  /** The command as it was called. */
  command: string;
  /** Its exit code; null if a signal ended it or it could not be started. */
  code: number | null;
  /** The signal that ended it. */
  signal: string | null;
  /** Its option `timeout` was exceeded. */
  timedOut: boolean;
  /** The last 65,536 bytes of the standard output. */
  stdout: string;
  /** The last 65,536 bytes of the standard error. */
  stderr: string;
}

/**
 * A command that did not succeed. The message ends with the last lines of its standard error.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { CommandError, flow, sh } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const check = flow("check", async () => {
 *   try {
 *     await sh`echo no such table >&2; exit 3`;
 *     return "found";
 *   } catch (error) {
 *     if (error instanceof CommandError && error.code === 3) return error.stderr;
 *     throw error;
 *   }
 * });
 *
 * const { result } = await runFlow(check);
 * assert.equal(result, "no such table\n");
 * ```
 */
export class CommandError extends Error implements CommandEnd {
  override name = "CommandError";
  /** The command as it was called. */
  readonly command: string;
  /** Its exit code; null if a signal ended it or it could not be started. */
  readonly code: number | null;
  /** The signal that ended it. */
  readonly signal: string | null;
  /** True if its option `timeout` was exceeded. */
  readonly timedOut: boolean;
  /** The last 65,536 bytes of the standard output. */
  readonly stdout: string;
  /** The last 65,536 bytes of the standard error. */
  readonly stderr: string;

  /** @param how what happened, for the message: "ended with code 2" */
  constructor(how: string, { command, code, signal, timedOut, stdout, stderr }: CommandEnd, options?: ErrorOptions) {
    super(messageOf(how, command, stderr), options);
    this.command = command;
    this.code = code;
    this.signal = signal;
    this.timedOut = timedOut;
    this.stdout = stdout;
    this.stderr = stderr;
    // Outputs are in the log; an error that is written out would repeat them.
    for (const name of ["stdout", "stderr"]) Object.defineProperty(this, name, { enumerable: false });
  }
}

function messageOf(how: string, command: string, stderr: string): string {
  const line = command.trim().replace(/\s*\n\s*/g, "; ");
  const short = line.length > COMMAND_CHARS_MAX ? `${line.slice(0, COMMAND_CHARS_MAX)}…` : line;
  const lines = stderr.trimEnd().split("\n").slice(-MESSAGE_LINES_MAX).join("\n").slice(-MESSAGE_CHARS_MAX);
  return lines === "" ? `\`${short}\` ${how}` : `\`${short}\` ${how}:\n${lines}`;
}
