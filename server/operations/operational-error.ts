/** An operation that is not possible here. The message is one complete line; the command line exits with 3. */
export class OperationalError extends Error {
  override readonly name = "OperationalError";
}
