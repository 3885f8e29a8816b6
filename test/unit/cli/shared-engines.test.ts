import { mkdirSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { flowsToName } from "#cli/serve/shared-engines";
import { loadConfig } from "#server/config/config";
import type { FlowRegistration } from "#server/discovery/discovery";

const flowNamed = (flow: string, options: Record<string, unknown> = {}): FlowRegistration =>
  ({ flow, project: "shop", module: "daily.ts", options }) as unknown as FlowRegistration;

t.test("the first start names the flows that nothing bounds or keeps apart; later starts name none", async (t) => {
  const home = join(t.testdir(), "home");
  mkdirSync(home);
  const { config } = loadConfig({ home }, {}, home);
  const flows = [
    flowNamed("weekly", { max_concurrent: null, isolated: false }),
    flowNamed("capped", { max_concurrent: 2 }),
    flowNamed("alone", { exclusive: true }),
    flowNamed("fresh", { isolated: true }),
    flowNamed("never-twice", { crash_retries: 0 }),
    flowNamed("never-twice-shared", { crash_retries: 0, exclusive: false }),
    flowNamed("daily"),
  ];
  t.same(flowsToName(config, { flows: [] }), [], "a home without flows");
  t.same(flowsToName({ ...config, engineSlots: 1 }, { flows }), [], "one run at a time");
  t.same(flowsToName({ ...config, engines: false }, { flows }), [], "no engines of this server");
  t.same(flowsToName(config, { flows }), ["daily", "never-twice-shared", "weekly"]);
  t.same(flowsToName(config, { flows }), []);
});

t.test("where crashed runs are not repeated by default, flows without a number of their own are kept apart", async (t) => {
  const home = join(t.testdir(), "home");
  mkdirSync(home);
  const { config } = loadConfig({ home, crashRetries: "0" }, {}, home);
  t.same(flowsToName(config, { flows: [flowNamed("daily"), flowNamed("again", { crash_retries: 2 })] }), ["again"]);
});
