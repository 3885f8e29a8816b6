/** When the code of a durable run is left: the reason of its aborted signal, and promises of code that is left. */

/**
 * The run leaves its engine until a wait has settled. The code of the flow gets no error: the promises that it waits for stay
 * open.
 */
export class Parked extends Error {
  override readonly name = "Parked";
}

/** True for a Parked of any copy of this package. */
export function isParked(error: unknown): boolean {
  return error instanceof Error && error.name === "Parked";
}

/** For code of an attempt that is over: what it begins is neither done nor rejected. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
