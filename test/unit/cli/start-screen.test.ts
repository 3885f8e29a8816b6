import { existsSync } from "node:fs";
import t from "tap";
import type { DeclaredRule } from "#actors/rule-engine/rules/register-rules";
import { renderStartScreen, type StartScreen } from "#cli/serve/start-screen";
import { Terminal } from "#cli/terminal/terminal";
import { loadConfig } from "#server/config/config";
import type { FlowRegistration } from "#server/discovery/discovery";

const pipe = new Terminal({ write: () => undefined }, {});

function screen(discovery: Partial<StartScreen["discovery"]>, sharing: readonly string[] = []): string {
  const { config } = loadConfig({ home: "/data/home", token: "secret-token", maxEngines: "2" }, {}, "/data/flows");
  const found = { flows: [], rules: [], routes: [], schedules: new Map(), problems: [], warnings: [], ...discovery };
  return renderStartScreen(
    { url: "http://127.0.0.1:4270", servedDir: "/data/flows", config, discovery: found, sharing, startMs: 120 },
    pipe,
  ).join("\n");
}

function flowNamed(flow: string): FlowRegistration {
  return { flow, project: "shop", module: "daily.ts", options: {} } as unknown as FlowRegistration;
}

t.test("the screen has the address, what is served, the flows and how to stop, and never the token", async (t) => {
  const daily = flowNamed("daily");
  const text = screen({ flows: [daily], schedules: new Map([[daily, 2]]) });
  t.match(text, /Millrace is ready after 120 ms/);
  t.match(text, /Address {2}http:\/\/127\.0\.0\.1:4270 {2}\(a token is needed\)/);
  t.match(text, /Serving {2}\/data\/flows/);
  t.match(text, /Engines {2}up to 2 processes/);
  t.match(text, /daily {2}shop {5}daily\.ts {10}2/);
  t.match(text, new RegExp(`Stop it with: kill ${process.pid}`));
  t.notMatch(text, /secret-token/);
});

t.test("the guide that the screen names is a file, seen from here", async (t) => {
  const [path = ""] = /\S*shared-engines\.md/.exec(screen({ flows: [flowNamed("a")] }, ["a"])) ?? [];
  t.ok(existsSync(path), path);
});

t.test("files that could not be used are named with their error", async (t) => {
  const text = screen({
    problems: [{ module: "bad.ts", source_dir: "/data/flows", kind: "file", error: "no such table\nmore" }],
    warnings: ["too many files"],
  });
  t.match(text, /1 file could not be used:\n {2}■ bad\.ts {2}no such table\n {4}more/);
  t.match(text, /◆ too many files/);
});

t.test("without flows it shows how one is written; of many it shows the first", async (t) => {
  t.match(screen({}), /No flows were found/);
  t.match(screen({}), /export const hello = flow\("hello"/);
  const text = screen({ flows: Array.from({ length: 23 }, (_, index) => flowNamed(`flow-${index}`)) });
  t.match(text, /and 3 more/);
});

t.test("rules and routes of the code are named, and what is wrong with one of them", async (t) => {
  const route = (name: string) =>
    ({ method: "POST", path: `/hooks/${name}`, module: "hooks.ts", limit_ms: 30_000, public: false }) as const;
  const text = screen({
    rules: [{ name: "alert", module: "alert.ts" } as DeclaredRule],
    routes: Array.from({ length: 8 }, (_, index) => route(`r${index}`)),
    problems: [{ module: "alert.ts", source_dir: "/data/flows", kind: "part", error: 'rule "late": at: unknown time zone' }],
  });
  t.match(text, /No flows were found\./);
  t.match(text, /Rules {4}alert\n/);
  t.match(text, /Routes {3}POST \/hooks\/r0, POST \/hooks\/r1.* and 2 more\n/);
  t.match(text, /Files, or something in them, could not be used:\n {2}■ alert\.ts {2}rule "late"/);
});

t.test("flows that share engines are named, and what that means", async (t) => {
  t.notMatch(screen({}), /share/);
  const text = screen({}, ["daily", "hourly"]);
  t.match(text, /Runs of these flows share engines while they wait: daily, hourly\.\n/);
  t.match(text, /share process\.env, the working directory and the state of its modules/);
});
