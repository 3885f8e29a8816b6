/**
 * An actor: state that only its own steps change, one message per step. Its messages are a closed union declared beside the
 * actor; its effects leave through the outbox after the step.
 */
import type { Outbox } from "./effect.ts";

export interface Actor<M = unknown> {
  /** One step. A throw crashes the actor: the effects of the step are dropped and the supervisor decides on the restart. */
  receive(message: M, out: Outbox): void;
  /**
   * Releases what the actor holds outside memory (handles, sockets, processes). Until this promise resolves the actor still
   * receives messages; an actor that `failed` receives none and ends at once.
   */
  stop?(failed: boolean): void | Promise<void>;
}

export interface StartContext {
  nowUs(): number;
  /** 1 at the first start, plus one at each restart. */
  generation: number;
}

/** How an actor is made, and how the message that crashed it is answered. */
export interface ActorSpec {
  name: string;
  start(context: StartContext, out: Outbox): Actor | Promise<Actor>;
  /** Sends what is due because `message` crashed the actor (an answer to a waiting client, for example). */
  failed?(message: unknown, error: Error, out: Outbox): void;
  /** At a restart, waiting messages for which this is true are dropped, because their sender sends them again. */
  resent?(message: unknown): boolean;
  mailboxMax?: number;
}

/** Figures of an actor, readable at any time. */
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
  /** How often the actor held its thread for longer than STALL_US, and the work that last did so. */
  stalls: number;
  last_stall: string | null;
  last_error: string | null;
}
