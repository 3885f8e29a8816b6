/** the dispatch group and its commit client. */
import { statSync } from "node:fs";
import { join } from "node:path";
import { getHeapStatistics } from "node:v8";
import { isSameProcess } from "#actors/engines/process-table";
import { DispatchGroup } from "#actors/group";
import { createIdSource } from "#actors/ids";
import type { DispatchSettings } from "#actors/live-state/live-state";
import { unfinishedRunsIn } from "#actors/live-state/run-room";
import { COMMITS, DISPATCHER, LOG_WRITER } from "#actors/names";
import type { ServerFacts } from "#actors/records/server-info";
import { CommitClient } from "#actors/store-writer/commit-client";
import { BACKFILL_NEAR_MAX, BACKFILL_SLICE_RUNS } from "#protocol/limits";
import { SECRET_KEY_FILE } from "#protocol/sealed-text";
import type { ActorSpec } from "#runtime/actor";
import { bootTimeUs, createSystemClock, processUptimeUs } from "#runtime/clock";
import { EXIT_REPORTS, type ExitReport, type ThreadHost } from "#runtime/thread";
import { openReadHandle } from "#storage/read-handle";
import { SecretBox } from "#storage/secret-box";
import { Statements } from "#storage/statements";
import { writeSettings } from "../settings-file.ts";
import type { ThreadData } from "./data.ts";
import { ruleReader } from "./rule-reader.ts";

/** Epochs reserved per start of this thread, so that they grow over its restarts. */
const EPOCHS_PER_THREAD = 1_000_000;

export function setUp(data: ThreadData, thread: ThreadHost): ActorSpec[] {
  const clock = createSystemClock();
  const commits = new CommitClient({
    source: data.startedAt + data.threadStarts,
    send: (batch) => thread.host.send(LOG_WRITER, batch),
    receivedUs: () => group.receivedUs(),
    acknowledged: () => group.committed((to, message) => thread.host.send(to, message)),
    reload: (error) => {
      const report: ExitReport = { name: DISPATCHER, message: error.message, counted: false };
      thread.host.send(EXIT_REPORTS, report);
    },
  });
  thread.host.attach(COMMITS, commits);
  const group = new DispatchGroup({
    nowUs: () => clock.nowUs(),
    uptimeUs: () => processUptimeUs() - data.startedUptimeUs,
    bootUs: bootTimeUs,
    ids: createIdSource(),
    commits,
    openStore: () => new Statements(openReadHandle(data.databasePath)),
    settings: settingsOf(data),
    facts: factsOf(data),
    isAlive: isSameProcess,
    firstEpoch: data.threadStarts * EPOCHS_PER_THREAD,
  });
  return [...group.specs(), ...group.reactionSpecs(), ruleReader(data.databasePath, thread)];
}

function settingsOf(data: ThreadData): DispatchSettings {
  const { config } = data;
  return {
    crashRetriesDefault: config.crashRetriesDefault,
    retainDays: config.retainDays,
    retainRunsDays: config.retainRunsDays,
    resourceTotals: new Map(Object.entries(config.resources)),
    emailConfigured: config.email !== null,
    catchupDefault: config.catchupDefault,
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    schedulesFire: config.schedules,
    cancelGraceUs: Math.round(config.cancelGraceSecs * 1e6),
    backfillSliceRuns: BACKFILL_SLICE_RUNS,
    backfillNearMax: BACKFILL_NEAR_MAX,
    rerunDelaySeconds: config.crashRerunDelaySecs,
    spawnEngines: config.engines,
    enginesMax: config.maxEngines,
    engineRunsMax: config.engineMaxRuns,
    externalEnginesMax: config.maxExternalEngines,
    unfinishedRunsMax: config.maxUnfinishedRuns ?? unfinishedRunsIn(getHeapStatistics().heap_size_limit),
    enginePatterns: config.engineCommands.map(({ pattern }) => pattern),
    host: data.host,
    servedDir: data.servedDir,
    serverPid: data.pid,
  };
}

function factsOf(data: ThreadData): ServerFacts {
  const { config, databasePath } = data;
  const bytesOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return {
    version: data.version,
    pid: data.pid,
    home: config.home,
    servedDir: data.servedDir,
    startedAt: data.startedAt,
    databasePath,
    emailConfigured: config.email !== null,
    liveFlows: new Set(),
    customRoutes: [],
    codeProblems: [],
    codeReloaded: null,
    host: config.host,
    port: config.port,
    url: "",
    listening(host, port, url) {
      this.host = host;
      this.port = port;
      this.url = url;
    },
    fileSizes: () => ({ database: bytesOf(databasePath), wal: bytesOf(`${databasePath}-wal`) }),
    writeSettings: (changes) => writeSettings(config.configPath, changes),
    secrets: new SecretBox(join(config.home, SECRET_KEY_FILE)),
  };
}
