/**
 * What dispatcher, scheduler, lease manager and records have in common: each is a table of handlers over the shared live state,
 * and handles every message as one step. The compiler requires a handler for every command that protocol/wire/command.ts assigns to
 * the actor, and for every other message of the actor.
 */
import type { Command, CommandKind, CommandNotice } from "#protocol/wire/command";
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import type { GroupPorts } from "./ports.ts";
import type { LiveState } from "./state/live-state.ts";
import { Turn } from "./turn.ts";

/** A handler for every one of these commands. */
export type CommandHandlers<K extends CommandKind> = { readonly [Kind in K]: (turn: Turn, command: Command<Kind>) => void };

/** A handler for every kind of message. */
export type MessageHandlers<M extends { kind: string }> = {
  readonly [Kind in M["kind"]]: (turn: Turn, message: Extract<M, { kind: Kind }>) => void;
};

/** For an actor none of whose commands is a long-poll, or hands something out. */
export const NO_LONG_POLLS: MessageHandlers<CommandNotice> = {
  Expired: () => undefined,
  Abandoned: () => undefined,
  Undelivered: () => undefined,
};

export abstract class CoreActor<K extends CommandKind, M extends { kind: string }> implements Actor<Command<K> | M> {
  protected readonly state: LiveState;
  protected readonly ports: GroupPorts;
  protected abstract readonly commands: CommandHandlers<K>;
  protected abstract readonly messages: MessageHandlers<M>;

  constructor(state: LiveState, ports: GroupPorts) {
    this.state = state;
    this.ports = ports;
  }

  receive(message: Command<K> | M, out: Outbox): void {
    if (!this.ports.takes(message)) return;
    const turn = new Turn(this.state, this.ports.nowUs(), this.ports.ids, out, this.ports.nextTurn());
    if (this.#isCommand(message)) this.command(turn, message);
    else handle(this.messages, turn, message);
    this.handled(turn);
    turn.finish();
    this.stepped(out);
  }

  /** Handles a command in a step: a repeated request with an Idempotency-Key gets its first answer. */
  protected command(turn: Turn, command: Command<K>): void {
    if (!turn.answers.again(command)) handleCommand(this.commands, turn.causedBy(command), command);
  }

  /** Called in each step after the message was handled, before the decision leaves. */
  protected handled(_turn: Turn): void {}

  /** Called after each step. */
  protected stepped(_out: Outbox): void {}

  #isCommand(message: Command<K> | M): message is Command<K> {
    return Object.hasOwn(this.commands, message.kind);
  }
}

function handleCommand<K extends CommandKind>(handlers: CommandHandlers<K>, turn: Turn, command: Command<K>): void {
  const handler = handlers[command.kind as K];
  handler(turn, command);
}

function handle<M extends { kind: string }>(handlers: MessageHandlers<M>, turn: Turn, message: M): void {
  const handler = handlers[message.kind as M["kind"]] as ((turn: Turn, message: M) => void) | undefined;
  if (handler === undefined) throw new Error(`no handler for a message of kind ${message.kind}`);
  handler(turn, message);
}
