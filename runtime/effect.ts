/**
 * Effects that a step asks for. They are performed after the step has returned; a step that throws has no effects.
 */
import type { Lane } from "./mailbox.ts";

export type Effect =
  | { kind: "Send"; to: string; message: unknown; lane: Lane }
  | { kind: "SetTimer"; key: string; dueUs: number; message: unknown }
  | { kind: "CancelTimer"; key: string };

/** Collects the effects of one step in order. */
export class Outbox {
  readonly effects: Effect[] = [];

  /** Sends a message to an actor by name, wherever it is placed. */
  send(to: string, message: unknown, lane: Lane = "ordinary"): void {
    this.effects.push({ kind: "Send", to, message, lane });
  }

  /** Delivers `message` to this actor at `dueUs` (wall clock, microseconds); replaces a timer of the same key. */
  setTimer(key: string, dueUs: number, message: unknown): void {
    this.effects.push({ kind: "SetTimer", key, dueUs, message });
  }

  cancelTimer(key: string): void {
    this.effects.push({ kind: "CancelTimer", key });
  }
}
