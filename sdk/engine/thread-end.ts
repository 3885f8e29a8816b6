/** Why the user thread ends, sent by the thread itself as its last message. */
import { describeFailure } from "../execution/failure.ts";
import { shared } from "../execution/shared-state.ts";
import type { Ended } from "./user-thread-api.ts";

/** Calls `tell` when user code ends this thread: by an uncaught error or by process.exit. */
export function tellEnd(tell: (ended: Ended) => void): void {
  let uncaught: Ended | null = null;
  process.on("uncaughtExceptionMonitor", (error, origin) => {
    // If user code has a listener of its own, it continues.
    if (process.listenerCount("uncaughtException") > 0) return;
    const how = origin === "unhandledRejection" ? "unhandled rejection:" : "uncaught";
    uncaught = endedByError(error, how, currentRun());
  });
  process.on("exit", (code) => tell(uncaught ?? exited(code)));
}

/** The run whose code is executing; Node calls the listeners of errors and of the exit in the context of that code. */
function currentRun(): number | null {
  return shared.scope.getStore()?.run.id ?? null;
}

/** The end by an uncaught error of this run's code; `how` precedes the message. */
export function endedByError(error: unknown, how: string, run: number | null): Ended {
  const { message, exception, traceback } = describeFailure(error);
  return { kind: "ended", cause: `${how} ${message}`, details: { exception, traceback }, run };
}

/** The stack of this call leads to the line of user code that called process.exit. */
function exited(code: number): Ended {
  const { traceback } = describeFailure(new ProcessExit(`process.exit(${code}) was called`));
  const cause = `process.exit(${code}) was called`;
  return { kind: "ended", cause, details: { exit_code: code, traceback }, run: currentRun() };
}

class ProcessExit extends Error {
  override name = "ProcessExit";
}
