/** The only source of random ids and numbers of the actors; a simulation passes a seeded source. */
import { V7Generator } from "uuidv7";
import { bytesToUuid } from "#protocol/values/uuid";

export interface IdSource {
  /** A UUIDv7 in lower-case hyphenated text. */
  uuid(): string;
  /** Uniform in [0, 1). */
  random(): number;
}

/** Random words fetched from the system at a time; fetching them one by one costs more than the rest of an id. */
const RANDOM_WORDS = 1024;

export function createIdSource(): IdSource {
  const words = new Uint32Array(RANDOM_WORDS);
  let used = RANDOM_WORDS;
  const nextUint32 = (): number => {
    if (used === RANDOM_WORDS) {
      crypto.getRandomValues(words);
      used = 0;
    }
    used += 1;
    return words[used - 1] ?? 0;
  };
  const generator = new V7Generator({ nextUint32 });
  return { uuid: () => bytesToUuid(generator.generate().bytes), random: () => Math.random() };
}
