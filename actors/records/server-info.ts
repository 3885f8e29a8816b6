/** GET /api/server and GET, PATCH /api/settings: information about the server, and settings that can be changed at run time. */

import { refuse } from "#protocol/errors";
import type {
  CodeProblem,
  CodeReloaded,
  EngineInfo,
  RouteSpec,
  ServerInfo,
  Settings,
  SettingsPatch,
} from "#protocol/records/server";
import type { Command } from "#protocol/wire/command";
import type { Secrets } from "../core/secrets.ts";
import { changesOf } from "../core/state/changed-settings.ts";
import type { Flow } from "../core/state/flow.ts";
import type { Turn } from "../core/turn.ts";
import { describeClock } from "../dispatcher/clock/clock-status.ts";
import { capacityFreed, requeue } from "../dispatcher/hand-out/hand-out.ts";

/** Bytes of the database and of its WAL. The WAL of PostgreSQL belongs to all databases of a server, and counts as 0. */
export interface StoreSizes {
  database: number;
  wal: number;
}

/** Facts about the server, given to the group. They survive a restart of the group. */
export interface ServerFacts {
  readonly version: string;
  readonly pid: number;
  readonly home: string;
  readonly servedDir: string | null;
  readonly startedAt: number;
  /** The path of the SQLite file, or the URL of the PostgreSQL database without its password. */
  readonly storeName: string;
  readonly emailConfigured: boolean;
  /** Ids of the flows registered from code by this server. */
  readonly liveFlows: Set<number>;
  /** Routes that user code has added. */
  customRoutes: RouteSpec[];
  /** Problems found in the served directory. */
  codeProblems: CodeProblem[];
  /** The last reload of served code. */
  codeReloaded: CodeReloaded | null;
  host: string;
  port: number;
  url: string;
  listening(host: string, port: number, url: string): void;
  storeSizes(): StoreSizes;
  readonly secrets: Secrets;
  /**
   * Writes changed settings to the configuration file; throws when that fails. Null: they are rows of the store, which may
   * outlive the machine with the file.
   */
  readonly writeSettings: ((changes: Record<string, Record<string, number>>) => void) | null;
  /** Names of the settings whose values are rows of the store. */
  readonly changedSettings: Set<string>;
}

export function describeServer(turn: Turn, facts: ServerFacts, streamSeq: number): ServerInfo {
  const engines = [...turn.state.engines.values()].map(
    (engine): EngineInfo => ({
      id: engine.id,
      pid: engine.pid,
      module: engine.key.module,
      source_dir: engine.key.source_dir,
      isolated: engine.key.isolated,
      nice: engine.key.nice,
      runs_done: engine.runsDone,
      current_run: engine.runs.keys().next().value ?? null,
      adopted: !engine.spawned,
      exit_requested: engine.exitRequested,
      uptime_secs: Math.max(0, turn.nowUs - engine.firstSeenUs) / 1e6,
    }),
  );
  return {
    version: facts.version,
    home: facts.home,
    pid: facts.pid,
    started_at: facts.startedAt,
    url: facts.url,
    served_dir: facts.servedDir,
    engines,
    queued: turn.state.queue.waiting,
    stream_seq: streamSeq,
    // Filled in by the gateway, because the store may have become read-only since.
    store_problem: null,
    clock_problem: describeClock(turn),
  };
}

export function describeSettings(turn: Turn, facts: ServerFacts): Settings {
  const { state } = turn;
  const sizes = facts.storeSizes();
  const saturated = saturatedFlows(turn);
  return {
    host: facts.host,
    port: facts.port,
    pid: facts.pid,
    version: facts.version,
    home: facts.home,
    served_dir: facts.servedDir,
    database_path: facts.storeName,
    database_bytes: sizes.database,
    wal_bytes: sizes.wal,
    resources: Object.fromEntries(state.ledger.list().map(({ name, total, used }) => [name, { total, used }])),
    max_engines: state.settings.enginesMax,
    engine_max_runs: state.settings.engineRunsMax,
    crash_retries_default: state.settings.crashRetriesDefault,
    catchup_default: state.settings.catchupDefault,
    retain_days: state.settings.retainDays,
    email_configured: facts.emailConfigured,
    secret_key_present: facts.secrets.present,
    secret_key_missing: !facts.secrets.present && state.hasSecrets(),
    custom_routes: facts.customRoutes,
    code_problems: facts.codeProblems,
    code_reloaded: facts.codeReloaded,
    engine_saturation_risk: saturated.length > 0,
    saturation_flows: saturated,
    saturation_reason:
      saturated.length > 0 ? `their max_concurrent together reaches max_engines (${state.settings.enginesMax})` : null,
    changed_settings: [...facts.changedSettings].sort(),
  };
}

/** Live flows whose concurrency limits together could fill every engine, so that other flows would wait. */
function saturatedFlows(turn: Turn): string[] {
  const capped = [...turn.state.flows.values()].filter((flow) => flow.live && flow.options.maxConcurrent > 0);
  const total = capped.reduce((sum, flow) => sum + flow.options.maxConcurrent, 0);
  return total >= turn.state.settings.enginesMax ? capped.map((flow) => flow.name).sort() : [];
}

/** Takes effect at once; a raised total wakes runs that wait for the resource. */
export function patchSettings(turn: Turn, command: Command<"PatchSettings">, facts: ServerFacts): void {
  const { resources, retain_days, crash_retries } = command.body;
  const { settings, ledger } = turn.state;
  if (retain_days != null && retain_days < 0)
    return turn.answers.refuse(command, refuse("invalid", "retain_days must be zero or more"));
  if (crash_retries != null && crash_retries < 0)
    return turn.answers.refuse(command, refuse("invalid", "crash_retries must be zero or more"));
  const totals = Object.entries(resources ?? {});
  if (totals.some(([, total]) => total < 0))
    return turn.answers.refuse(command, refuse("invalid", "resource totals must be non-negative"));
  try {
    // Keep the changes first, so that no setting is applied if writing the file fails.
    keepChanges(turn, command.body, facts);
  } catch (cause) {
    return turn.answers.refuse(command, refuse("settings_not_written", cause instanceof Error ? cause.message : String(cause)));
  }
  if (retain_days != null) settings.retainDays = retain_days;
  if (crash_retries != null) setCrashRetries(turn, crash_retries);
  for (const [name, total] of totals) {
    ledger.setTotal(name, total);
    settings.resourceTotals.set(name, total);
  }
  if (totals.length > 0) {
    capacityFreed(
      turn,
      totals.map(([name]) => name),
    );
  }
  turn.answers.json(command, 200, describeSettings(turn, facts));
}

function keepChanges(turn: Turn, patch: SettingsPatch, { writeSettings, changedSettings }: ServerFacts): void {
  if (writeSettings === null) {
    for (const [name, value] of changesOf(patch)) {
      turn.rows.put("put_setting", { name, value: String(value) });
      changedSettings.add(name);
    }
    return;
  }
  const { resources, retain_days, crash_retries } = patch;
  const defaults: Record<string, number> = {};
  if (retain_days != null) defaults["retain_days"] = retain_days;
  if (crash_retries != null) defaults["crash_retries"] = crash_retries;
  writeSettings({ defaults, resources: resources ?? {} });
}

/** How often runs are repeated decides which flows share engines, so waiting runs may change place. */
function setCrashRetries(turn: Turn, count: number): void {
  const { state } = turn;
  const change = (): void => {
    state.settings.crashRetriesDefault = count;
    for (const flow of state.flows.values()) state.setExclusive(flow);
  };
  if ((state.settings.crashRetriesDefault === 0) === (count === 0)) return change();
  const follows = ({ options }: Flow): boolean => options.crashRetries === null && options.exclusive === null;
  requeue(
    turn,
    [...state.runs.values()].filter(({ flow }) => follows(flow)),
    change,
  );
}
