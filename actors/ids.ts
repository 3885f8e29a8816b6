/** The one source of random ids and numbers of the actors; a simulation gives a seeded one. */
import { V7Generator } from "uuidv7";

export interface IdSource {
  /** A UUIDv7 in lower-case hyphenated text. */
  uuid(): string;
  /** Uniform in [0, 1). */
  random(): number;
}

export function createIdSource(): IdSource {
  const generator = new V7Generator();
  return { uuid: () => generator.generate().toString(), random: () => Math.random() };
}
