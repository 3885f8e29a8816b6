/** The body of an answer kept under an Idempotency-Key, in the table `idempotency`: JSON text, or the id of an event. */

export type KeptBody = { kind: "json"; text: string } | { kind: "event"; id: number };

/** Begins the text that stands for an event; no JSON text begins like this. */
const EVENT = "event:";

export function keptEvent(id: number): string {
  return `${EVENT}${id}`;
}

export function readKeptBody(stored: string): KeptBody {
  return stored.startsWith(EVENT) ? { kind: "event", id: Number(stored.slice(EVENT.length)) } : { kind: "json", text: stored };
}
