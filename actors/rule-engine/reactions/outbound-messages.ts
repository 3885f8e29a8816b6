/** Outbound messages: each is stored as a row before it is sent, and sent again until answered. */
import type { Turn } from "../../core/turn.ts";
import { type OutboundContent, type OutboundMessage, receiverOf } from "../rule-messages.ts";

/** The reason for a message; a hook belongs to a run, not to a rule. */
export interface Purpose {
  kind: string;
  firing_id: number | null;
  rule_id: number | null;
  action: number | null;
}

/** Stores a message, which is sent after the commit; returns its id. */
export function putOutbound(turn: Turn, content: OutboundContent, purpose: Purpose): number {
  const { rules } = turn.state;
  const id = rules.take("outbound");
  const message = { ...content, id, firing_id: purpose.firing_id };
  const text = JSON.stringify(content);
  turn.rows.put("put_outbound", { id, ...purpose, request: text, created_at: turn.nowUs });
  rules.addOutbound(message, text.length);
  rules.unsentOutbound.push({ turn: turn.number, message });
  return id;
}

/** Closes an answered message. False if it was answered before. */
export function closeOutbound(turn: Turn, id: number): boolean {
  if (!turn.state.rules.removeOutbound(id)) return false;
  turn.rows.put("delete_outbound", { id });
  return true;
}

/** Sends messages that are committed. */
export function sendCommittedOutbound(turn: Turn, committedTurn: number): void {
  const { unsentOutbound } = turn.state.rules;
  for (let first = unsentOutbound[0]; first !== undefined && first.turn <= committedTurn; first = unsentOutbound[0]) {
    sendOut(turn, first.message);
    unsentOutbound.shift();
  }
}

/** Sends a receiver its unanswered messages again. */
export function resendOutbound(turn: Turn, receiver: string): void {
  const { outbound, unsentOutbound } = turn.state.rules;
  const waiting = new Set(unsentOutbound.map(({ message }) => message.id));
  for (const message of outbound.values())
    if (receiverOf(message) === receiver && !waiting.has(message.id)) sendOut(turn, message);
}

function sendOut(turn: Turn, message: OutboundMessage): void {
  turn.out.send(receiverOf(message), message);
}
