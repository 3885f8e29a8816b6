/** POST /api/events: an event that a client records. */

import { refuse } from "#protocol/errors";
import { PAYLOAD_BYTES_MAX } from "#protocol/limits";
import { canonicalJson } from "#protocol/values/json";
import { exceedsBytes } from "#protocol/values/json-size";
import { checkEmittedName } from "#protocol/vocabulary";
import type { Command } from "#protocol/wire/command";
import { flowKey } from "../core/state/flow.ts";
import type { Turn } from "../core/turn.ts";

export function emitEvent(turn: Turn, command: Command<"EmitEvent">): void {
  const body = command.body;
  if (body.name.trim() === "") return turn.answers.refuse(command, refuse("event_name_blank"));
  const wrong = checkEmittedName(body.name);
  if (wrong !== null) return turn.answers.refuse(command, refuse("invalid", wrong));
  const payload: Record<string, unknown> = { ...(body.payload ?? {}) };
  const run = body.run_id == null ? undefined : turn.state.findRun(body.run_id);
  if (body.run_id != null && run === undefined) return turn.answers.refuse(command, refuse("run_not_found", body.run_id));
  const flow = body.flow_id == null ? run?.flow : turn.state.flows.get(body.flow_id);
  if (body.flow_id != null && flow === undefined) return turn.answers.refuse(command, refuse("flow_not_found", body.flow_id));
  const related: object[] = [];
  let resource: object = { kind: "custom", id: "", name: body.name };
  if (body.resource != null) resource = { kind: body.resource.kind, id: body.resource.id, name: body.resource.name ?? "" };
  else if (run !== undefined) {
    const { external_id, name } = turn.state.textsOf(run);
    resource = { kind: "run", id: external_id, name };
    related.push({ kind: "flow", id: flowKey(run.flow.project, run.flow.name), name: run.flow.name });
    for (const tag of turn.state.tagsOf(run)) related.push({ kind: "tag", id: tag, name: tag });
    payload["project"] ??= run.flow.project;
    payload["state"] ??= run.state.name;
  } else if (flow !== undefined) {
    resource = { kind: "flow", id: flowKey(flow.project, flow.name), name: flow.name };
    payload["project"] ??= flow.project;
  }
  const payloadText = canonicalJson(payload);
  if (exceedsBytes(payloadText, PAYLOAD_BYTES_MAX))
    return turn.answers.refuse(command, refuse("value_too_large", "payload", PAYLOAD_BYTES_MAX));
  const about = { run: run ?? null, flow_id: flow?.id ?? null };
  turn.events.emitted(command.id, { name: body.name, ...about, resource, related }, payloadText);
  turn.answers.event(command, 201);
}
