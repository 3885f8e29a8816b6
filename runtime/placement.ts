/** Which actor runs on which thread: data, so that the same tree runs on one thread or on many. */
import { assert } from "./assert.ts";

export interface Placement {
  /** Thread of each actor. The process starts with the thread "main". */
  actors: Readonly<Record<string, string>>;
  /** Thread of each name that can receive messages but is no actor. */
  endpoints: Readonly<Record<string, string>>;
  /** Entry module of the other threads; receives the name of its thread. */
  entry: URL;
}

/** The threads of a placement, main first. */
export function threadsOf(placement: Placement): string[] {
  return ["main", ...new Set(Object.values(placement.actors).filter((thread) => thread !== "main"))];
}

export function threadOf(placement: Placement, actor: string): string {
  const thread = placement.actors[actor];
  assert(thread !== undefined, `actor ${actor} has no place`);
  return thread;
}

/** Every name placed on a thread: actors and endpoints. */
export function namesOn(placement: Placement, thread: string): string[] {
  const { endpoints } = placement;
  return [...actorsOn(placement, thread), ...Object.keys(endpoints).filter((name) => endpoints[name] === thread)];
}

/** The actors of one thread. */
export function actorsOn(placement: Placement, thread: string): string[] {
  return Object.keys(placement.actors).filter((actor) => placement.actors[actor] === thread);
}
