/** Outgoing messages: each is stored as a row before it is sent, and sent again until answered. */
import { putOperation } from "#storage/write/ops";
import type { Turn } from "../../core/turn.ts";
import { type Outgoing, type OutgoingContent, receiverOf } from "../rule-messages.ts";

/** The reason for a message; a hook belongs to a run, not to a rule. */
export interface Purpose {
  kind: string;
  firing_id: number | null;
  rule_id: number | null;
  action: number | null;
}

/** Stores a message, which is sent after the commit; returns its id. */
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

/** Closes an answered message. False if it was answered before. */
export function closeOutgoing(turn: Turn, id: number): boolean {
  if (!turn.state.rules.removeOutgoing(id)) return false;
  putOperation(turn.decision.ops, "delete_outbound", id);
  return true;
}

/** Sends messages that are committed. */
export function sendCommitted(turn: Turn, committedTurn: number): void {
  const { unsent } = turn.state.rules;
  for (let first = unsent[0]; first !== undefined && first.turn <= committedTurn; first = unsent[0]) {
    sendOut(turn, first.message);
    unsent.shift();
  }
}

/** Sends a receiver its unanswered messages again. */
export function sendAgain(turn: Turn, receiver: string): void {
  const { outgoing, unsent } = turn.state.rules;
  const waiting = new Set(unsent.map(({ message }) => message.id));
  for (const message of outgoing.values())
    if (receiverOf(message) === receiver && !waiting.has(message.id)) sendOut(turn, message);
}

function sendOut(turn: Turn, message: Outgoing): void {
  turn.out.send(receiverOf(message), message);
}
