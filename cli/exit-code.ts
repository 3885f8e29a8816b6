/** Exit codes of commands. */

export const EXIT = {
  /** The command succeeded. */
  ok: 0,
  /** The run ended Failed or Crashed. */
  runFailed: 1,
  /** No run took place, or the run ended another way: skipped, cancelled. */
  otherEnd: 2,
  /** The command could not be executed: wrong usage, no server, no access, unknown flow. */
  usage: 3,
} as const;

/** A failure printed as one line: the cause and the next step. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;
  readonly advice: string | null;

  constructor(message: string, advice: string | null = null, exitCode: number = EXIT.usage) {
    super(message);
    this.exitCode = exitCode;
    this.advice = advice;
  }
}
