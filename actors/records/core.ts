/**
 * Records: stored data besides runs (flows from code, artifacts and events sent by clients), and information about the
 * server.
 *
 * Messages in: commands of the gateway, flows found by discovery, the listening address of the gateway. Effects out: one
 * decision per step.
 */
import type { ArtifactBody } from "#protocol/artifact";
import { checkArtifactData } from "#protocol/artifact-data";
import type { Command, CommandNotice } from "#protocol/command";
import type { CustomRoutes } from "#protocol/custom-route";
import { refuse } from "#protocol/errors";
import type { LiveFlows } from "#protocol/feed";
import { canonicalJson } from "#protocol/json";
import { exceedsBytes } from "#protocol/json-size";
import { ARTIFACT_BYTES_MAX } from "#protocol/limits";
import type { ActorInfo, CodeProblems } from "#protocol/server";
import type { Actor } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { putOperation } from "#storage/ops";
import type { GroupPorts } from "../group.ts";
import type { Flow } from "../live-state/flow.ts";
import type { LiveState } from "../live-state/live-state.ts";
import { withEntry } from "../live-state/run.ts";
import { GATEWAY } from "../names.ts";
import { createRule, deleteRule, patchRule } from "../rules/commands.ts";
import { type RegisterRules, registerRules } from "../rules/register-rules.ts";
import { reconcileSchedules } from "../scheduler/reconcile.ts";
import { Turn } from "../turn.ts";
import { emitEvent } from "./emit-event.ts";
import { describeQueue, explainRun } from "./queue-view.ts";
import { type FlowRegistration, registerFlow, updateFlow } from "./register-flow.ts";
import { describeServer, describeSettings, patchSettings, type ServerFacts } from "./server-info.ts";
import { createVariable, deleteVariable, patchVariable } from "./variables.ts";

/** Flows found by discovery in the served directory: all at the start, later the changes. */
export interface RegisterFlows {
  kind: "RegisterFlows";
  flows: FlowRegistration[];
  /** Flows that were removed from the code and are no longer live. */
  gone: Pick<FlowRegistration, "project" | "flow">[];
  errors: { module: string; source_dir: string; error: string }[];
}

/** Served files were loaded again with changed content. */
export interface ReloadCode {
  kind: "ReloadCode";
  files: number;
  /** The first of the changed files. */
  names: string[];
  /** Flows whose module is, or imports, one of these files. */
  flows: Pick<FlowRegistration, "project" | "flow">[];
}

/** The gateway listens. */
export interface Listening {
  kind: "Listening";
  host: string;
  port: number;
  url: string;
}

/** Figures of all actors, collected by main. */
export interface Figures {
  kind: "Figures";
  actors: ActorInfo[];
}

type RecordsMessage =
  | Command
  | CommandNotice
  | RegisterFlows
  | ReloadCode
  | RegisterRules
  | CustomRoutes
  | CodeProblems
  | Listening
  | Figures;

export class Records implements Actor<RecordsMessage> {
  readonly #state: LiveState;
  readonly #ports: GroupPorts;
  readonly #facts: ServerFacts;
  #actors: ActorInfo[] = [];

  constructor(state: LiveState, ports: GroupPorts, facts: ServerFacts) {
    this.#state = state;
    this.#ports = ports;
    this.#facts = facts;
  }

  receive(message: RecordsMessage, out: Outbox): void {
    if (!this.#ports.takes(message)) return;
    const turn = new Turn(this.#state, this.#ports.nowUs(), this.#ports.ids, out, this.#ports.nextTurn());
    if ("rule_depth" in message) turn.ruleDepth = message.rule_depth ?? 0;
    this.#handle(turn, message);
    turn.finish();
  }

  #handle(turn: Turn, message: RecordsMessage): void {
    if ("idempotency" in message && turn.answerAgain(message)) return;
    switch (message.kind) {
      case "RegisterFlows":
        return this.#registerFlows(turn, message);
      case "ReloadCode":
        return this.#reloadCode(turn, message);
      case "RegisterRules":
        return registerRules(turn, message);
      case "CustomRoutes":
        this.#facts.customRoutes = message.routes.map(({ id, method, path, source }) => ({ id, method, path, source }));
        return;
      case "CodeProblems":
        this.#facts.codeProblems = message.problems;
        return;
      case "Listening":
        this.#facts.listening(message.host, message.port, message.url);
        this.#tellLiveFlows(turn);
        return;
      case "Figures":
        this.#actors = message.actors;
        return;
      case "GetActors":
        return turn.replyJson(message, 200, this.#actors);
      case "GetServer":
        return turn.replyJson(message, 200, describeServer(turn, this.#facts, this.#ports.lastSeq()));
      case "GetQueue":
        return turn.replyJson(message, 200, describeQueue(turn));
      case "ExplainRun":
        return explainRun(turn, message);
      case "GetSettings":
        return turn.replyJson(message, 200, describeSettings(turn, this.#facts));
      case "PatchSettings":
        return patchSettings(turn, message, this.#facts);
      case "CreateArtifact":
        return createArtifact(turn, message);
      case "EmitEvent":
        return emitEvent(turn, message);
      case "CreateRule":
        return createRule(turn, message);
      case "PatchRule":
        return patchRule(turn, message);
      case "DeleteRule":
        return deleteRule(turn, message);
      case "CreateVariable":
        return createVariable(turn, message, this.#facts.secrets);
      case "PatchVariable":
        return patchVariable(turn, message, this.#facts.secrets);
      case "DeleteVariable":
        return deleteVariable(turn, message);
      case "Expired":
      case "Abandoned":
      case "Undelivered":
        return;
      default:
        throw new Error(`records do not take ${message.kind}`);
    }
  }

  /** Streams the flows again: their rows may be unchanged, but their code has changed. */
  #reloadCode(turn: Turn, { files, names, flows }: ReloadCode): void {
    this.#facts.codeReloaded = { at: turn.nowUs, files, names, flows: flows.length };
    for (const { project, flow } of flows) {
      const registered = this.#state.flowByName(project, flow);
      if (registered !== undefined) turn.stream("flow.registered", registered.id);
    }
  }

  #tellLiveFlows(turn: Turn): void {
    turn.out.send(GATEWAY, { kind: "LiveFlows", ids: [...this.#facts.liveFlows] } satisfies LiveFlows);
  }

  #registerFlows(turn: Turn, found: RegisterFlows): void {
    for (const flow of found.flows) {
      const registered = registerFlow(turn, flow, true);
      const wrong = reconcileSchedules(turn, registered, flow.options?.["schedules"]);
      if (wrong !== registered.schedule_error) {
        registered.schedule_error = wrong;
        updateFlow(turn, registered);
      }
      this.#facts.liveFlows.add(registered.id);
    }
    for (const { project, flow } of found.gone) {
      const registered = this.#state.flowByName(project, flow);
      if (registered === undefined) continue;
      registered.live = false;
      this.#facts.liveFlows.delete(registered.id);
      turn.stream("flow.registered", registered.id);
    }
    this.#tellLiveFlows(turn);
    for (const { module, source_dir, error } of found.errors) {
      for (const flow of this.#state.flows.values()) {
        if (flow.module !== module || flow.source_dir !== source_dir) continue;
        setError(turn, flow, error);
      }
    }
  }
}

function setError(turn: Turn, flow: Flow, error: string): void {
  flow.error = error;
  updateFlow(turn, flow);
}

/** POST /api/artifacts: an artifact published inside a run, but not through the engine's report. */
function createArtifact(turn: Turn, command: Command): void {
  const body = command.body as ArtifactBody;
  const run = turn.state.findRun(body.run_id);
  if (run === undefined) return turn.refuse(command, refuse("run_not_found", body.run_id));
  const taskId = body.task_run_id ?? null;
  const isOfRun = taskId === null || [...run.tasks.values()].some((task) => task.id === taskId);
  if (!isOfRun && taskId !== null) return turn.refuse(command, refuse("task_run_not_found", taskId));
  const wrong = checkArtifactData(body.kind, body.data);
  if (wrong !== null) return turn.refuse(command, refuse("invalid", wrong));
  const data = canonicalJson(body.data);
  if (exceedsBytes(data, ARTIFACT_BYTES_MAX)) return turn.refuse(command, refuse("artifact_too_large"));
  const { kind } = body;
  const key = body.key ?? null;
  const id = turn.state.nextIds.artifact;
  turn.state.nextIds.artifact += 1;
  const external_id = turn.ids.uuid();
  run.artifacts = withEntry(run.artifacts, external_id, { id, created_at: turn.nowUs });
  putOperation(turn.decision.ops, "put_artifact", id, external_id, run.id, taskId, key, kind, data, turn.nowUs, turn.nowUs);
  turn.stream("artifact.updated", id);
  const head = JSON.stringify({ id, external_id, run_id: run.id, task_run_id: taskId, key, kind });
  turn.reply(command, 201, `${head.slice(0, -1)},"data":${data},"created_at":${turn.nowUs},"updated_at":${turn.nowUs}}`);
}
