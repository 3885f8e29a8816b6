/** POST /api/runs and POST /api/flows/{id}/runs. */

import { refuse } from "#protocol/errors";
import { CreateRunBody, CreateRunForFlowBody } from "#protocol/records/run";
import type { Command } from "#protocol/wire/command";
import { parseBody } from "../../core/command-body.ts";
import type { Flow } from "../../core/state/flow.ts";
import type { Turn } from "../../core/turn.ts";
import { registerFlow, schemaAfter } from "../../records/flows/register-flow.ts";
import { createRun } from "./create-run.ts";
import { lackOfRoom } from "./lack-of-room.ts";
import { acceptParameters, refuseLargeFlow } from "./sent-run.ts";

type Asked = Pick<CreateRunForFlowBody, "name" | "parameters" | "tags">;

/** Creates a run by project and flow name; an unknown flow is registered when module and source_dir are given. */
export function createRunCommand(turn: Turn, command: Command): void {
  const body = parseBody(turn, command, CreateRunBody);
  if (body === undefined) return;
  if (turn.state.stopping) return turn.answers.refuse(command, refuse("stopping"));
  const tooLarge = refuseLargeFlow(String(command.body), body);
  if (tooLarge !== null) return turn.answers.refuse(command, tooLarge);
  const known = turn.state.flowByName(body.project, body.flow);
  const { module, source_dir, created_by } = body;
  if (module == null || source_dir == null || known?.live === true) {
    if (known === undefined) return turn.answers.refuse(command, refuse("flow_unknown", body.project, body.flow));
    return createFor(turn, command, () => known, known.parameter_schema, body, created_by ?? "client");
  }
  const registration = { ...body, module, source_dir };
  // Register only after the run is accepted, so that a refused creation leaves no flow behind.
  const register = (): Flow => registerFlow(turn, registration, false);
  createFor(turn, command, register, schemaAfter(known, registration), body, created_by ?? "client");
}

export function createFlowRunCommand(turn: Turn, command: Command): void {
  const body = parseBody(turn, command, CreateRunForFlowBody);
  if (body === undefined) return;
  if (turn.state.stopping) return turn.answers.refuse(command, refuse("stopping"));
  const flow = turn.state.flows.get(command.target);
  if (flow === undefined) return turn.answers.refuse(command, refuse("flow_not_found", command.target));
  createFor(turn, command, () => flow, flow.parameter_schema, body, "api");
}

function createFor(
  turn: Turn,
  command: Command,
  flow: () => Flow,
  schema: Flow["parameter_schema"],
  asked: Asked,
  createdBy: string,
): void {
  const text = acceptParameters(schema, asked.parameters ?? {});
  if (typeof text !== "string") return turn.answers.refuse(command, text);
  const full = lackOfRoom(turn, 1);
  if (full !== null) return turn.answers.refuse(command, full);
  const { name, tags } = asked;
  const run = createRun(turn, flow(), { name: name ?? null, parametersText: text, tags: tags ?? [], createdBy });
  turn.answers.run(command, 201, run);
}
