/** Handling of a failed output: the reader of a pipe has left, or the disk is full. */
import { EXIT } from "../exit-code.ts";

let needsOutput = true;

/**
 * Ends the command with its output: silently if the reader of a pipe has left (`millrace runs ls | head`), as other programs
 * do, else with the error.
 */
export function endWithOutput(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (!needsOutput) return;
    if (error.code === "EPIPE") process.exit(EXIT.ok);
    throw error;
  });
  // There is no other place to report that.
  process.stderr.on("error", () => undefined);
}

/** A server continues: its output is in its log too, and runs do not depend on a reader. */
export function goOnWithoutOutput(): void {
  needsOutput = false;
}
