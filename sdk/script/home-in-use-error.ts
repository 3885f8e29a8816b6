/** Another process, which is not a server, held the home for too long. */
export class HomeInUseError extends Error {
  override readonly name = "HomeInUseError";
}
