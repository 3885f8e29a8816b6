/** Facts about a server, for tests. */
import type { Secrets } from "#actors/core/secrets";
import type { ServerFacts } from "#actors/records/server-info";

export function serverFacts(): ServerFacts {
  return {
    version: "0.0.0",
    pid: 4242,
    home: "/home",
    servedDir: null,
    startedAt: 0,
    storeName: "/home/db.sqlite",
    emailConfigured: false,
    liveFlows: new Set(),
    customRoutes: [],
    codeProblems: [],
    codeReloaded: null,
    host: "127.0.0.1",
    port: 0,
    url: "",
    listening: () => undefined,
    storeSizes: () => ({ database: 0, wal: 0 }),
    writeSettings: () => undefined,
    changedSettings: new Set(),
    secrets: testSecrets(),
  };
}

/** A key whose signatures can be read. */
export function testSecrets(): Secrets {
  return {
    present: true,
    seal: (text) => `sealed ${text}`,
    open: (sealed) => sealed.replace("sealed ", ""),
    sign: (text) => `signed-${text.replaceAll(" ", "-")}`,
  };
}
