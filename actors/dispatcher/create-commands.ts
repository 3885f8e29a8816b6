/** POST /api/runs and POST /api/flows/{id}/runs. */
import type { Command } from "#protocol/command";
import { refuse } from "#protocol/errors";
import { canonicalJson } from "#protocol/json";
import { PARAMETERS_BYTES_MAX } from "#protocol/limits";
import { checkParameters } from "#protocol/parameters";
import { CreateRunBody, CreateRunForFlowBody } from "#protocol/run";
import type { Flow } from "../live-state/flow.ts";
import { registerFlow } from "../records/register-flow.ts";
import type { Turn } from "../turn.ts";
import { createRun } from "./create-run.ts";

type Asked = Pick<CreateRunForFlowBody, "name" | "parameters" | "tags">;

/** Creates a run by project and flow name; a flow the server does not know is registered when module and source_dir are given. */
export function createRunCommand(turn: Turn, command: Command): void {
  const body = turn.parse(command, CreateRunBody);
  if (body === undefined) return;
  if (turn.state.stopping) return turn.refuse(command, refuse("stopping"));
  let flow = turn.state.flowByName(body.project, body.flow);
  const { module, source_dir } = body;
  if (module != null && source_dir != null && flow?.live !== true) {
    flow = registerFlow(turn, { ...body, module, source_dir }, false);
  }
  if (flow === undefined) return turn.refuse(command, refuse("flow_unknown", body.project, body.flow));
  createFor(turn, command, flow, body, body.created_by ?? "client");
}

export function createFlowRunCommand(turn: Turn, command: Command): void {
  const body = turn.parse(command, CreateRunForFlowBody);
  if (body === undefined) return;
  if (turn.state.stopping) return turn.refuse(command, refuse("stopping"));
  const flow = turn.state.flows.get(command.target);
  if (flow === undefined) return turn.refuse(command, refuse("flow_not_found", command.target));
  createFor(turn, command, flow, body, "api");
}

function createFor(turn: Turn, command: Command, flow: Flow, asked: Asked, createdBy: string): void {
  const checked = checkParameters(flow.parameter_schema, asked.parameters ?? {});
  if (!checked.ok) return turn.refuse(command, refuse("invalid", checked.error));
  // Text has at most three bytes per UTF-16 unit, so only long texts need the exact count.
  const text = canonicalJson(checked.parameters);
  if (text.length * 3 > PARAMETERS_BYTES_MAX && Buffer.byteLength(text) > PARAMETERS_BYTES_MAX) {
    return turn.refuse(command, refuse("parameters_too_large", PARAMETERS_BYTES_MAX));
  }
  const { name, tags } = asked;
  const run = createRun(turn, flow, { name: name ?? null, parametersText: text, tags: tags ?? [], createdBy });
  turn.replyRun(command, 201, run);
}
