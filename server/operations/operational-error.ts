/** What was asked for cannot be done here. The message is one finished line; the command line exits with 3. */
export class OperationalError extends Error {
  override readonly name = "OperationalError";
}
