/**
 * Another process, which is not a server, held the home for too long.
 * @example
 * ```ts
 * import { flow, HomeInUseError } from "millrace";
 *
 * const nightly = flow("nightly", async () => "done");
 *
 * try {
 *   await nightly();
 * } catch (error) {
 *   if (!(error instanceof HomeInUseError)) throw error;
 *   console.error("another script is running; try again later");
 *   process.exitCode = 75;
 * }
 * ```
 */
export class HomeInUseError extends Error {
  override readonly name = "HomeInUseError";
}
