/** How a command ends, as far as the shell can see. */

export const EXIT = {
  /** It did what it was asked to. */
  ok: 0,
  /** The run ended Failed or Crashed. */
  runFailed: 1,
  /** Nothing ran, or the run ended another way: skipped, cancelled. */
  otherEnd: 2,
  /** The command could not be carried out: wrong usage, no server, no access, unknown flow. */
  usage: 3,
} as const;

/** A failure that is told in one line: the cause, and what to do next. */
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
