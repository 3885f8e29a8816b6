/** The official client against a running server, over both transports: every tool, resource, template and prompt. */
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import t, { type Test } from "tap";
import { MCP_TOOLS } from "#protocol/mcp/mcp-tools";
import type { Run } from "#protocol/records/run";
import { Millrace } from "#sdk/client/index";
import { builtPath } from "../support/built-package.ts";
import { serve as serveFolder } from "../support/command-line.ts";

const SCHEMA = { type: "object", properties: { day: { type: "string", format: "date", default: "2026-01-01" } } };
const ANSWER = { type: "object", properties: { yes: { type: "boolean" } }, required: ["yes"] };
const ORDERS = { project: "shop", flow: "orders", module: "shop.ts", source_dir: "/nowhere", parameter_schema: SCHEMA };
const ENGINE = "test-engine";
const TOKEN = "secret";

type Structured = Record<string, unknown>;

async function serve(t: Test, toml = "") {
  const root = t.testdir({ served: { "millrace.toml": toml } });
  const home = join(root, "home");
  await serveFolder(t, join(root, "served"), home, "--token", TOKEN);
  const api = new Millrace({ home, token: TOKEN });
  return { url: await api.address(), home, api };
}

/** Transports as a host opens them: by address, or by a command that it starts. */
const TRANSPORTS: Readonly<Record<string, (server: { url: string; home: string }, ...args: string[]) => Transport>> = {
  "streamable HTTP": ({ url }) =>
    // Its types declare `sessionId?: string`, the client's types do not allow undefined.
    new StreamableHTTPClientTransport(new URL("/mcp", url), {
      requestInit: { headers: { authorization: `Bearer ${TOKEN}` } },
    }) as Transport,
  stdio: ({ home }, ...args) =>
    new StdioClientTransport({
      command: process.execPath,
      args: [builtPath("cli/main"), "mcp", "--home", home, ...args],
      env: { PATH: process.env["PATH"] ?? "", SERVICE_TOKEN: TOKEN },
    }),
};

async function connect(t: Test, transport: Transport): Promise<Client> {
  const client = new Client({ name: "official", version: "1" });
  await client.connect(transport);
  t.teardown(() => client.close());
  return client;
}

/** Creates runs in the states that the tools need: one failed with a task run and log lines, one paused for each transport. */
async function fill(t: Test, { api, url }: { api: Millrace; url: string }) {
  const failed = await api.runs.create(ORDERS);
  await api.runs.transition(failed.id, { type: "Running" });
  const send = async (path: string, body: unknown) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(new URL(path, url), { method: "POST", headers, body: JSON.stringify(body) });
    t.ok(answer.ok, `${path}: ${answer.status} ${answer.ok ? "" : await answer.text()}`);
  };
  const external_id = "0199a000-0000-7000-8000-000000000001";
  const line = (index: number) => {
    const level = index % 2 === 0 ? 40 : 20;
    return { run_id: failed.id, timestamp: index, level, logger: "l", message: `line ${index}` };
  };
  const state = { type: "Failed", name: "Failed", message: "no such table", timestamp: 1 };
  await send("/api/engine/report", {
    engine_id: ENGINE,
    run_id: failed.id,
    events: [
      { kind: "task_run_created", seq: 1, external_id, name: "load", task_key: "load", dynamic_key: "load-0" },
      { kind: "task_run_transition", seq: 2, external_id, state },
      { kind: "logs", seq: 3, logs: Array.from({ length: 600 }, (_, index) => line(index)) },
      { kind: "artifact", seq: 4, external_id, artifact_kind: "markdown", key: "note", data: { text: "hello" } },
    ],
  });
  await api.runs.transition(failed.id, { type: "Failed", message: "no such table" });
  const paused: number[] = [];
  for (const _transport of Object.keys(TRANSPORTS)) {
    const { id } = await api.runs.create(ORDERS);
    await api.runs.transition(id, { type: "Running" });
    await api.runs.transition(id, { type: "Paused", details: { prompt: "Go on?", schema: ANSWER } });
    paused.push(id);
  }
  await send("/api/rules", {
    name: "tell",
    when: { events: ["run.failed"] },
    do: [{ kind: "webhook", url: "http://127.0.0.1:9/" }],
  });
  return { failed: failed.id, paused };
}

/** Calls a tool; the client checks the structured content against the tool's output schema. */
async function call(t: Test, client: Client, name: string, args: Structured = {}): Promise<Structured> {
  const result = await client.callTool({ name, arguments: args });
  const [content] = result.content as { type: string; text: string }[];
  t.notOk(result.isError, `${name}: ${content?.text}`);
  t.same(JSON.parse(content?.text ?? ""), result.structuredContent, `${name} says the same as text`);
  return result.structuredContent as Structured;
}

t.test("the official client over both transports", async (t) => {
  const server = await serve(t);
  const stored = await fill(t, server);
  for (const [name, open] of Object.entries(TRANSPORTS)) {
    await t.test(name, async (t) => {
      const client = await connect(t, open(server));
      t.match(client.getServerVersion(), { name: "millrace" });
      t.match(client.getInstructions(), /list_flows/);
      await t.test("lists every tool", (t) => listsTools(t, client));
      const called = new Set<string>();
      const use: Use = (tool, args) => {
        called.add(tool);
        return call(t, client, tool, args);
      };
      await t.test("reads", (t) => reads(t, use, stored.failed));
      await t.test("an answer that does not fit its question is refused by field", async (t) => {
        const refused = await client.callTool({
          name: "resume_run",
          arguments: { run_id: stored.paused.at(-1), input: { yes: "perhaps" } },
        });
        t.match(refused, {
          isError: true,
          content: [{ text: /^answer "yes": expected boolean\. The run still waits\. get_run/ }],
        });
      });
      await t.test("changes", (t) => changes(t, use, stored.paused));
      t.same([...called].sort(), Object.keys(MCP_TOOLS).sort(), "every tool was called");
      await t.test("reads resources and renders the prompt", (t) => resourcesAndPrompt(t, client, stored.failed));
      t.same(await client.ping(), {});
      if (client.transport instanceof StreamableHTTPClientTransport) await client.transport.terminateSession();
    });
  }
  await t.test("a proxy that was told so offers only what reads", async (t) =>
    onlyReads(t, await connect(t, TRANSPORTS["stdio"]?.(server, "--read-only") as Transport)),
  );
});

t.test("a server that was told so offers only what reads", async (t) => {
  const server = await serve(t, "[server]\nmcp_read_only = true\n");
  await onlyReads(t, await connect(t, TRANSPORTS["streamable HTTP"]?.(server) as Transport));
});

type Use = (tool: string, args?: Structured) => Promise<Structured>;

async function listsTools(t: Test, client: Client): Promise<void> {
  const { tools } = await client.listTools();
  t.same(tools.map((tool) => tool.name).sort(), Object.keys(MCP_TOOLS).sort());
  for (const tool of tools) {
    t.ok(tool.title && tool.description && tool.outputSchema, tool.name);
    t.same(tool.annotations, MCP_TOOLS[tool.name as keyof typeof MCP_TOOLS].annotations, tool.name);
  }
}

async function reads(t: Test, use: Use, failed: number): Promise<void> {
  t.match(await use("list_flows"), { flows: [{ name: "orders", project: "shop" }] });
  t.match(await use("list_runs", { state_type: "Failed" }), { runs: [{ id: failed }], next_cursor: null });
  t.match(await use("get_run", { run_id: failed }), { run: { id: failed }, task_runs: [{ name: "load" }] });
  const { error_logs, ...explained } = await use("explain_failure", { run_id: failed });
  t.match(explained, { verdict: "no such table", failed_task_runs: [{ name: "load" }], events: Array });
  const lines = error_logs as { message: string }[];
  t.equal(lines.at(-1)?.message, "line 598", "the end of the log");
  t.equal(lines.length, 200);
  t.match(await use("run_logs", { run_id: failed, tail: true, limit: 2 }), {
    logs: [{ message: "line 598" }, { message: "line 599" }],
  });
  t.same((await use("search_logs", { search: "line", project: "another" }))["logs"], []);
  t.match(await use("search_logs", { search: "LINE 59", flow: "orders", min_level: 40, limit: 2 }), {
    logs: [{ message: "line 598", run_id: failed, flow_name: "orders" }, { message: "line 596" }],
    next_cursor: Number,
  });
  t.match(await use("list_events", { name: "run.*", limit: 1 }), { events: [{ name: /^run\./ }], next_cursor: Number });
  t.match(await use("list_artifacts", { kind: "markdown" }), { artifacts: [{ key: "note" }] });
  t.match(await use("list_rules"), { rules: [{ name: "tell" }] });
}

async function changes(t: Test, use: Use, paused: number[]): Promise<void> {
  const created = (await use("run_flow", { flow: "orders", parameters: { day: "2026-02-03" } }))["run"] as Run;
  t.match(created, { created_by: "mcp:official", parameters: { day: "2026-02-03" } });
  t.match(await use("cancel_run", { run_id: created.id }), { run: { state: { type: "Cancelled" } } });
  const again = (await use("retry_run", { run_id: created.id }))["run"] as Run;
  t.match(again, { created_by: `retry:${created.id}`, parent_run_id: created.id });
  t.match(await use("explain_run", { run_id: again.id }), { explanation: { run_id: again.id } });
  t.match(await use("cancel_run", { run_id: again.id }), { run: { state: { type: "Cancelled" } } });
  t.match(await use("wait_for_run", { run_id: again.id, timeout_s: 10 }), { ended: true });
  t.match(await use("resume_run", { run_id: paused.pop(), input: { yes: true } }), { run: { state: { type: "Scheduled" } } });
  const made = await use("create_schedule", { flow: "orders", kind: "cron", cron: "0 3 * * *" });
  const schedule_id = (made["schedule"] as { id: number }).id;
  t.match(await use("list_schedules", { flow: "orders" }), { schedules: [{ id: schedule_id, source: "mcp" }] });
  t.match(await use("edit_schedule", { schedule_id, interval: 3600 }), { schedule: { schedule: { kind: "interval" } } });
  t.match(await use("pause_schedule", { schedule_id }), { schedule: { active: false } });
  t.match(await use("resume_schedule", { schedule_id }), { schedule: { active: true } });
  t.same(await use("delete_schedule", { schedule_id }), { deleted: true, schedule_id });
  const days = { flow: "orders", parameter: "day", start: "2026-01-01", end: "2026-01-03" };
  t.match(await use("backfill", days), { dry_run: true, runs: 3 });
  t.match(await use("backfill", { ...days, dry_run: false }), { dry_run: false, backfill: { total: 3 } });
  t.match(await use("set_variable", { name: "limit", value: { n: 1 } }), { variable: { value: { n: 1 } } });
}

async function resourcesAndPrompt(t: Test, client: Client, failed: number): Promise<void> {
  const missing = await client.callTool({ name: "get_run", arguments: { run_id: 99 } });
  t.match(missing, { isError: true, content: [{ text: "run 99 not found. list_runs shows which runs exist." }] });
  t.same(await client.listResources(), { resources: [] });
  const { resourceTemplates } = await client.listResourceTemplates();
  t.same(
    resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    ["millrace://runs/{id}/logs", "millrace://runs/{id}/artifacts"],
  );
  for (const [part, found] of [
    ["logs", { logs: Array, run_id: failed, as_of: Number }],
    ["artifacts", { artifacts: [{ key: "note" }], run_id: failed }],
  ] as const) {
    const { contents } = await client.readResource({ uri: `millrace://runs/${failed}/${part}` });
    const [content] = contents as { mimeType: string; text: string }[];
    t.equal(content?.mimeType, "application/json");
    t.match(JSON.parse(content?.text ?? ""), found);
  }
  t.match(await client.listPrompts(), { prompts: [{ name: "diagnose_run", arguments: [{ name: "run_id", required: true }] }] });
  const prompt = await client.getPrompt({ name: "diagnose_run", arguments: { run_id: String(failed) } });
  t.match(prompt.messages, [{ role: "user", content: { type: "text", text: new RegExp(`run_id ${failed}`) } }]);
}

async function onlyReads(t: Test, client: Client): Promise<void> {
  t.match(client.getInstructions(), /only read/);
  const { tools } = await client.listTools();
  t.ok(tools.length > 5);
  t.ok(tools.every(({ annotations }) => annotations?.readOnlyHint === true));
  const refused = await client.callTool({ name: "set_variable", arguments: { name: "a", value: 1 } });
  t.match(refused, { isError: true, content: [{ text: /^set_variable was not called/ }] });
  t.match(await call(t, client, "list_rules"), { rules: Array });
}
