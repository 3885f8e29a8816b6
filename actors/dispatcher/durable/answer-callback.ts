/** POST /api/callbacks/{token}: settles the wait of a callback. */
import { refuse } from "#protocol/errors";
import { CallbackBody } from "#protocol/records/durable";
import { callbackTokenHash } from "#protocol/values/callback-token";
import type { Command } from "#protocol/wire/command";
import { parseBody } from "../../core/command-body.ts";
import type { Turn } from "../../core/turn.ts";
import { settleWait } from "./settle.ts";

/** A token that was used, has ended or never existed has the same answer. */
export function answerCallbackCommand(turn: Turn, command: Command<"AnswerCallback">): void {
  const wait = turn.state.durable.openCallback(callbackTokenHash(command.target_name ?? ""));
  if (wait === undefined) return turn.answers.refuse(command, refuse("not_found"));
  const value = parseBody(turn, command, CallbackBody);
  if (value === undefined) return;
  settleWait(turn, wait, { kind: "answered", value });
  turn.answers.json(command, 200, { ok: true });
}
