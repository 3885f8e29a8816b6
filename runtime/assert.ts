/** A failed assertion: crashes the actor, and the supervisor decides on the restart. */
export class Defect extends Error {
  override name = "Defect";
}

/** Throws a Defect unless the condition holds. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Defect(message);
}

/** For the default branch of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new Defect(`unexpected value ${JSON.stringify(value)}`);
}
