/** Another process, which is no server, had the home for too long. */
export class HomeInUseError extends Error {
  override readonly name = "HomeInUseError";
}
