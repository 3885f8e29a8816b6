/**
 * Records: stored data besides runs (flows from code, artifacts and events sent by clients), and information about the
 * server.
 *
 * Messages in: commands of the gateway, flows found by discovery, the listening address of the gateway. Effects out: one
 * decision per step.
 */

import { refuse } from "#protocol/errors";
import { ARTIFACT_BYTES_MAX } from "#protocol/limits";
import { checkArtifactData } from "#protocol/records/artifact-data";
import type { ActorInfo, CodeProblems } from "#protocol/records/server";
import type { CustomRoutes } from "#protocol/routes/custom-route";
import { canonicalJson } from "#protocol/values/json";
import { exceedsBytes } from "#protocol/values/json-size";
import type { Command, CommandNotice, CommandsOf } from "#protocol/wire/command";
import type { LiveFlows } from "#protocol/wire/feed";
import type { ThreadInfo } from "#protocol/wire/figures";
import { type CommandHandlers, CoreActor, type MessageHandlers, NO_LONG_POLLS } from "../core/core-actor.ts";
import type { GroupPorts } from "../core/ports.ts";
import type { Flow } from "../core/state/flow.ts";
import type { LiveState } from "../core/state/live-state.ts";
import { withEntry } from "../core/state/run.ts";
import type { Turn } from "../core/turn.ts";
import { GATEWAY, REGISTERED } from "../names.ts";
import { type RegisterRules, registerRules } from "../rule-engine/rules/register-rules.ts";
import { createRule, deleteRule, patchRule } from "../rule-engine/rules/rule-commands.ts";
import { reconcileSchedules } from "../scheduler/schedules/reconcile.ts";
import { describeMetrics } from "./describe-metrics.ts";
import { emitEvent } from "./emit-event.ts";
import { type FlowRegistration, registerFlow, updateFlow } from "./flows/register-flow.ts";
import { describeQueue, explainRun } from "./queue-view/queue-view.ts";
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

/** Figures of all actors and threads, collected by main. */
export interface Figures {
  kind: "Figures";
  actors: ActorInfo[];
  threads: ThreadInfo[];
}

export type RecordsMessage =
  | CommandNotice
  | RegisterFlows
  | ReloadCode
  | RegisterRules
  | CustomRoutes
  | CodeProblems
  | Listening
  | Figures;

export class Records extends CoreActor<CommandsOf<"records">, RecordsMessage> {
  protected readonly commands: CommandHandlers<CommandsOf<"records">> = {
    GetActors: (turn, command) => turn.answers.json(command, 200, this.#figures.actors),
    GetServer: (turn, command) => turn.answers.json(command, 200, describeServer(turn, this.#facts, this.ports.lastSeq())),
    GetQueue: (turn, command) => turn.answers.json(command, 200, describeQueue(turn)),
    GetMetrics: (turn, command) =>
      turn.answers.json(command, 200, describeMetrics(turn, this.#facts, this.#figures, this.ports.commits)),
    ExplainRun: explainRun,
    GetSettings: (turn, command) => turn.answers.json(command, 200, describeSettings(turn, this.#facts)),
    PatchSettings: (turn, command) => patchSettings(turn, command, this.#facts),
    CreateArtifact: createArtifact,
    EmitEvent: emitEvent,
    CreateRule: createRule,
    PatchRule: patchRule,
    DeleteRule: deleteRule,
    CreateVariable: (turn, command) => createVariable(turn, command, this.#facts.secrets),
    PatchVariable: (turn, command) => patchVariable(turn, command, this.#facts.secrets),
    DeleteVariable: deleteVariable,
  };
  protected readonly messages: MessageHandlers<RecordsMessage> = {
    RegisterFlows: (turn, found) => this.#registerFlows(turn, found),
    ReloadCode: (turn, reloaded) => this.#reloadCode(turn, reloaded),
    RegisterRules: registerRules,
    CustomRoutes: (_turn, { routes }) => {
      this.#facts.customRoutes = routes.map(({ id, method, path, source }) => ({ id, method, path, source }));
    },
    CodeProblems: (_turn, { problems }) => {
      this.#facts.codeProblems = problems;
    },
    Listening: (turn, { host, port, url }) => {
      this.#facts.listening(host, port, url);
      this.#tellLiveFlows(turn);
    },
    Figures: (_turn, { actors, threads }) => {
      this.#figures = { actors, threads };
    },
    ...NO_LONG_POLLS,
  };
  readonly #facts: ServerFacts;
  #figures: Pick<Figures, "actors" | "threads"> = { actors: [], threads: [] };

  constructor(state: LiveState, ports: GroupPorts, facts: ServerFacts) {
    super(state, ports);
    this.#facts = facts;
  }

  /** Streams the flows again: their rows may be unchanged, but their code has changed. */
  #reloadCode(turn: Turn, { files, names, flows }: ReloadCode): void {
    this.#facts.codeReloaded = { at: turn.nowUs, files, names, flows: flows.length };
    for (const { project, flow } of flows) {
      const registered = this.state.flowByName(project, flow);
      if (registered !== undefined) turn.stream.add("flow.registered", registered.id);
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
      const registered = this.state.flowByName(project, flow);
      if (registered === undefined) continue;
      registered.live = false;
      this.#facts.liveFlows.delete(registered.id);
      turn.stream.add("flow.registered", registered.id);
    }
    this.#tellLiveFlows(turn);
    for (const { module, source_dir, error } of found.errors) {
      for (const flow of this.state.flows.values()) {
        if (flow.module !== module || flow.source_dir !== source_dir) continue;
        setError(turn, flow, error);
      }
    }
    turn.out.send(REGISTERED, null);
  }
}

function setError(turn: Turn, flow: Flow, error: string): void {
  flow.error = error;
  updateFlow(turn, flow);
}

/** POST /api/artifacts: an artifact published inside a run, but not through the engine's report. */
function createArtifact(turn: Turn, command: Command<"CreateArtifact">): void {
  const { body } = command;
  const run = turn.state.findRun(body.run_id);
  if (run === undefined) return turn.answers.refuse(command, refuse("run_not_found", body.run_id));
  const taskId = body.task_run_id ?? null;
  const isOfRun = taskId === null || [...turn.state.taskRunsOf(run).values()].some((task) => task.id === taskId);
  if (!isOfRun && taskId !== null) return turn.answers.refuse(command, refuse("task_run_not_found", taskId));
  const wrong = checkArtifactData(body.kind, body.data);
  if (wrong !== null) return turn.answers.refuse(command, refuse("invalid", wrong));
  const data = canonicalJson(body.data);
  if (exceedsBytes(data, ARTIFACT_BYTES_MAX)) return turn.answers.refuse(command, refuse("artifact_too_large"));
  const { kind } = body;
  const key = body.key ?? null;
  const id = turn.state.nextIds.artifact;
  turn.state.nextIds.artifact += 1;
  const external_id = turn.ids.uuid();
  run.artifacts = withEntry(run.artifacts, external_id, { id, created_at: turn.nowUs });
  const times = { created_at: turn.nowUs, updated_at: turn.nowUs };
  turn.rows.put("put_artifact", { id, external_id, run_id: run.id, task_run_id: taskId, key, kind, data, ...times });
  turn.stream.add("artifact.updated", id, run.id);
  const head = JSON.stringify({ id, external_id, run_id: run.id, task_run_id: taskId, key, kind });
  turn.answers.text(command, 201, `${head.slice(0, -1)},"data":${data},"created_at":${turn.nowUs},"updated_at":${turn.nowUs}}`);
}
