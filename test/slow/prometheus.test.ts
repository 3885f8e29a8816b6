/**
 * The metrics as Prometheus takes them: `promtool check metrics` finds nothing, and each query of the dashboard for Grafana has
 * samples of a server under load. Needs `prometheus` and `promtool` (apt-get install prometheus).
 */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Millrace } from "#sdk/client/index";
import { newPlace, until } from "../support/called-code.ts";
import { serveWithEngines } from "../support/command-line.ts";
import { StreamClient } from "../support/stream-client.ts";
import { testFolder } from "../support/test-folder.ts";

t.setTimeout(180_000);

const CODE = `
  import { every, flow } from "millrace";
  export const quick = flow("quick", { resources: { disk: 1 } }, async () => "done");
  export const fails = flow("fails", async () => { throw new Error("as intended"); });
  export const often = flow("often", { schedules: [every("1s")] }, async () => "done");
`;

interface Panel {
  title: string;
  targets: { expr: string }[];
}

/** A port that was free a moment ago: Prometheus takes no port 0. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return address !== null && typeof address === "object" ? address.port : 0;
}

async function scraped(t: Test, dir: string, target: string): Promise<string> {
  const port = await freePort();
  const config = `scrape_configs:\n  - job_name: millrace\n    scrape_interval: 1s\n    static_configs:\n      - targets: ["${target}"]\n`;
  writeFileSync(join(dir, "prometheus.yml"), config);
  const prometheus = spawn(
    "prometheus",
    [
      `--config.file=${join(dir, "prometheus.yml")}`,
      `--storage.tsdb.path=${join(dir, "tsdb")}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: "ignore" },
  );
  t.teardown(async () => {
    const ended = new Promise((resolve) => prometheus.once("exit", resolve));
    prometheus.kill();
    await ended;
  });
  return `http://127.0.0.1:${port}`;
}

async function samplesOf(prometheus: string, query: string): Promise<number[]> {
  const answer = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(query)}`);
  const { data, error } = (await answer.json()) as { data?: { result: { value: [number, string] }[] }; error?: string };
  if (data === undefined) throw new Error(`${query}: ${error}`);
  return data.result.map(({ value }) => Number(value[1]));
}

t.test("promtool finds nothing, and every query of the dashboard for Grafana has samples", async (t) => {
  const place = newPlace(t, CODE);
  writeFileSync(join(place.dir, "millrace.toml"), "[resources]\ndisk = 2\n");
  const server = await serveWithEngines(t, place.dir, place.home);
  const client = new Millrace({ home: place.home });
  const flows = new Map((await client.flows.list()).map(({ name, id }) => [name, id]));
  const reader = new StreamClient(Number(new URL(server.url).port));
  t.teardown(() => reader.socket.destroy());
  const prometheus = await scraped(t, testFolder(t, {}), new URL(server.url).host);
  let loading = true;
  const load = (async () => {
    while (loading) {
      for (const name of ["quick", "quick", "fails"]) await client.flows.run(flows.get(name) ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  t.teardown(async () => {
    loading = false;
    await load;
  });
  const dashboard = readFileSync(new URL("../../docs/monitoring/grafana-dashboard.json", import.meta.url), "utf8");
  const { panels } = JSON.parse(dashboard) as { panels: Panel[] };
  t.ok(panels.length >= 18);
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const query = expr.replaceAll("$instance", ".*");
      const samples = await until(async () => {
        const found = await samplesOf(prometheus, query).catch(() => []);
        return found.some((sample) => Number.isFinite(sample)) ? found : undefined;
      });
      t.ok(samples.length > 0, `${title}: ${query}`);
    }
  }
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const { status, stderr, stdout } = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
  t.same({ status, said: `${stdout}${stderr}` }, { status: 0, said: "" });
  for (const thread of ["main", "writer", "gateway", "readers", "rule-readers"])
    t.match(text, `millrace_heap_used_bytes{thread="${thread}"}`);
  for (const stage of ["queue_wait", "dispatch", "lateness", "commit", "acknowledgement"])
    t.match(text, new RegExp(`^millrace_${stage}_seconds_count [1-9]`, "m"), stage);
});
