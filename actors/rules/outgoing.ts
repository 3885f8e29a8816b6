/** Messages to the outside: each is a row before it leaves, and is sent again until its answer has come. */
import { putOperation } from "#storage/ops";
import type { Turn } from "../turn.ts";
import { type Outgoing, type OutgoingContent, receiverOf } from "./messages.ts";

/** What a message is sent for; a hook is sent for a run, not by a rule. */
export interface Purpose {
  kind: string;
  firing_id: number | null;
  rule_id: number | null;
  action: number | null;
}

/** Stores a message that leaves once it is committed; returns its id. */
export function putOutgoing(turn: Turn, content: OutgoingContent, purpose: Purpose): number {
  const { rules } = turn.state;
  const id = rules.take("outbound");
  const { kind, firing_id, rule_id, action } = purpose;
  const message = { ...content, id, firing_id };
  const text = JSON.stringify(content);
  putOperation(turn.decision.ops, "put_outbound", id, firing_id, rule_id, action, kind, text, turn.nowUs);
  rules.addOutgoing(message, text.length);
  rules.unsent.push({ turn: turn.number, message });
  return id;
}

/** The answer has come. False for a message that had one already. */
export function closeOutgoing(turn: Turn, id: number): boolean {
  if (!turn.state.rules.removeOutgoing(id)) return false;
  putOperation(turn.decision.ops, "delete_outbound", id);
  return true;
}

/** Sends what is committed by now. */
export function sendCommitted(turn: Turn, committedTurn: number): void {
  const { unsent } = turn.state.rules;
  for (let first = unsent[0]; first !== undefined && first.turn <= committedTurn; first = unsent[0]) {
    sendOut(turn, first.message);
    unsent.shift();
  }
}

/** Sends again what a receiver was sent and has not answered. */
export function sendAgain(turn: Turn, receiver: string): void {
  const { outgoing, unsent } = turn.state.rules;
  const waiting = new Set(unsent.map(({ message }) => message.id));
  for (const message of outgoing.values())
    if (receiverOf(message) === receiver && !waiting.has(message.id)) sendOut(turn, message);
}

function sendOut(turn: Turn, message: Outgoing): void {
  turn.out.send(receiverOf(message), message);
}
