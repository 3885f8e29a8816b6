/** the dispatch group with its commit client, and the actors that react to its state. */
import { getHeapStatistics } from "node:v8";
import { changesIn, hiddenValues } from "#actors/core/state/changed-settings";
import type { DispatchSettings } from "#actors/core/state/live-state";
import { PARKED_WAITS_MAX } from "#actors/core/state/parked-runs";
import { unfinishedRunsIn } from "#actors/core/state/run-room";
import { isSameProcess } from "#actors/engine-processes/process-table";
import { createIdSource } from "#actors/ids";
import { SERVER_LOG } from "#actors/names";
import type { ServerFacts, StoreSizes } from "#actors/records/server-info";
import { coreThread } from "#actors/specs/core-thread";
import { BACKFILL_NEAR_MAX, BACKFILL_SLICE_RUNS } from "#protocol/limits";
import type { ActorSpec } from "#runtime/actor";
import { bootTimeUs, processUptimeUs, systemClock } from "#runtime/clock";
import type { ThreadHost } from "#runtime/thread";
import { memoryOf, totalMemory } from "#runtime/thread-memory";
import { SecretBox } from "#storage/home/secret-box";
import { anySecret, storedSettings } from "#storage/load/load";
import { databaseBytes } from "#storage/postgres/database-bytes";
import { isPostgresUrl, storeName } from "#storage/postgres/location";
import { openReadHandle } from "#storage/read/read-handle";
import { Statements } from "#storage/sqlite/statements";
import { writeSettings } from "../config/settings-file.ts";
import type { LogMessage } from "../server-log.ts";
import type { ThreadData } from "./data.ts";
import { openRuleReaders } from "./rule-readers.ts";
import { storeSizes } from "./store-sizes.ts";

export function setUp(data: ThreadData, thread: ThreadHost): ActorSpec[] {
  const clock = systemClock;
  let readers: ReturnType<typeof openRuleReaders> | null = null;
  thread.owns("rule-readers", async () => totalMemory((await readers?.heaps())?.map(memoryOf) ?? []));
  const secrets = new SecretBox(data.config.secretKey);
  let sizes = (): StoreSizes => ({ database: 0, wal: 0 });
  const settings = settingsOf(data);
  const facts = factsOf(data, secrets, () => sizes());
  const { specs } = coreThread(thread.host, {
    nowUs: () => clock.nowUs(),
    uptimeUs: () => processUptimeUs() - data.startedUptimeUs,
    bootUs: bootTimeUs,
    ids: createIdSource(),
    openStore: () => {
      const database = openReadHandle(data.store, null, PATIENCE_MS);
      sizes = storeSizes(data.store, () => databaseBytes(database));
      const statements = new Statements(database);
      const problem = keyProblem(secrets, anySecret(statements));
      const log = (level: "info" | "warn", text: string) => thread.host.send(SERVER_LOG, { level, text } satisfies LogMessage);
      if (problem !== null) log("warn", problem);
      if (facts.writeSettings === null)
        for (const line of hiddenValues(settings, changesIn(storedSettings(statements)))) log("info", line);
      return statements;
    },
    openReaders: () => {
      readers = openRuleReaders(data.store);
      return readers;
    },
    settings,
    facts,
    isAlive: isSameProcess,
    threadStarts: data.threadStarts,
  });
  return specs;
}

/** The core decides nothing without the rows that it asks for: it waits for a database that does not answer. */
const PATIENCE_MS = 600_000;

/** Why the secrets of the store cannot be read; null if they can. */
function keyProblem(secrets: SecretBox, sealed: string | null): string | null {
  if (sealed === null || secrets.open(sealed) !== null) return null;
  const held = secrets.present ? "holds another key than the one that they were encrypted with" : "is missing";
  return `secret variables cannot be read: ${secrets.place} ${held}`;
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
    runningMax: config.maxRunning,
    parkAfterSecs: config.parkAfterSecs,
    parkedWaitsMax: PARKED_WAITS_MAX,
    externalEnginesMax: config.maxExternalEngines,
    unfinishedRunsMax: config.maxUnfinishedRuns ?? unfinishedRunsIn(getHeapStatistics().heap_size_limit),
    enginePatterns: config.engineCommands.map(({ pattern }) => pattern),
    host: data.host,
    servedDir: data.servedDir,
    serverPid: data.pid,
  };
}

function factsOf(data: ThreadData, secrets: SecretBox, sizes: () => StoreSizes): ServerFacts {
  const { config, store } = data;
  return {
    version: data.version,
    pid: data.pid,
    home: config.home,
    servedDir: data.servedDir,
    startedAt: data.startedAt,
    storeName: storeName(store),
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
    storeSizes: sizes,
    writeSettings: isPostgresUrl(store) ? null : (changes) => writeSettings(config.configPath, changes),
    changedSettings: new Set(),
    secrets,
  };
}
