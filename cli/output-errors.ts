/** What becomes of a command whose output takes no more text: the reader of a pipe has left, or the disk under a file is full. */
import { EXIT } from "./exit-code.ts";

let needsOutput = true;

/**
 * A command ends with its output: without a word where the reader of a pipe has left (`millrace runs ls | head`), as other programs
 * do, else with the error.
 */
export function endWithOutput(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (!needsOutput) return;
    if (error.code === "EPIPE") process.exit(EXIT.ok);
    throw error;
  });
  // There is no other place to say that.
  process.stderr.on("error", () => undefined);
}

/** A server serves on: what it prints is in its log too, and runs do not depend on who reads it. */
export function goOnWithoutOutput(): void {
  needsOutput = false;
}
