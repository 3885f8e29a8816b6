/**
 * An actor: state that only its own steps touch, moved one message at a time.
 * Its messages are a closed union declared beside it; its effects leave through the outbox after the step.
 */
import type { Outbox } from "./effect.ts";

export interface Actor<M = unknown> {
  /** One step. Throwing kills the actor: its effects of this step are dropped and the supervisor decides what follows. */
  receive(message: M, out: Outbox): void;
  /**
   * Releases what the actor holds outside memory (handles, sockets, processes). It goes on receiving until this has resolved;
   * one that `failed` receives nothing any more and ends at once.
   */
  stop?(failed: boolean): void | Promise<void>;
}

export interface StartContext {
  nowUs(): number;
  /** 1 at the first start, one more at each restart. */
  generation: number;
}

/** How an actor is made and what becomes of a message that killed it. */
export interface ActorSpec {
  name: string;
  start(context: StartContext, out: Outbox): Actor | Promise<Actor>;
  /** Says what to send because `message` killed the actor (an answer for a waiting client, say). */
  failed?(message: unknown, error: Error, out: Outbox): void;
  /** Waiting messages for which this is true are dropped at a restart, because their sender sends them again. */
  resent?(message: unknown): boolean;
  mailboxMax?: number;
}

/** What can be read of an actor at any time. */
export interface ActorFigures {
  name: string;
  state: "starting" | "running" | "stopping" | "stopped" | "crashed";
  mailbox_depth: number;
  handled: number;
  restarts: number;
  dropped: number;
  /** Time spent in steps, microseconds. */
  step_us: number;
  step_max_us: number;
  /** How often the actor held its thread for longer than STALL_US, and what it did the last time. */
  stalls: number;
  last_stall: string | null;
  last_error: string | null;
}
