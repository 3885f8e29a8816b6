import t from "tap";
import type { ApiRequest, AskApi } from "#gateway/mcp/api-calls";
import { readArguments } from "#gateway/mcp/arguments";
import { callTool } from "#gateway/mcp/tool-call";
import { failureOf, ToolFailure } from "#gateway/mcp/tool-failure";
import { TOOL_HANDLERS } from "#gateway/mcp/tools";
import { mcpInstructions } from "#protocol/mcp";
import { isReadOnlyTool, listedTools, MCP_TOOLS, type McpTool } from "#protocol/mcp-tools";
import { ROUTES } from "#protocol/routes";

const tools = Object.entries<McpTool>(MCP_TOOLS);
const FLOWS = [
  { project: "shop", name: "orders", id: 1, module: "secret" },
  { project: "crm", name: "orders", id: 2 },
  { project: "crm", name: "leads", id: 3 },
];

/** An API with these answers by operation; what was asked is kept. */
function api(answers: Record<string, unknown> = {}) {
  const asked: { operation: string; request: ApiRequest }[] = [];
  const ask: AskApi = async (operation, request = {}) => {
    asked.push({ operation, request });
    const answer =
      operation in answers ? answers[operation] : operation === "listFlows" ? FLOWS : { items: [], next_cursor: null };
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { asked, context: { ask, client: "editor" } };
}

interface Said {
  result: { content: { type: string; text: string }[]; isError: boolean; structuredContent?: unknown };
}

async function call(context: ReturnType<typeof api>["context"], name: string, args: unknown) {
  const { result } = (await callTool(context, { name, arguments: args })) as Said;
  return { ...result, text: result.content[0]?.text ?? "" };
}

t.test("each tool has a handler, is answered by operations that are served, and says what it does", async (t) => {
  t.same(Object.keys(TOOL_HANDLERS).sort(), tools.map(([name]) => name).sort());
  const operations = new Map(ROUTES.map((route) => [route.operation, route]));
  for (const [name, tool] of tools) {
    for (const operation of tool.operations) t.ok(operations.has(operation), `${name}: ${operation}`);
    const writes = tool.operations.some((operation) => operations.get(operation)?.method !== "GET");
    t.equal(tool.annotations.readOnlyHint, !writes, `${name} reads only if all its operations do`);
    t.equal(isReadOnlyTool(name), !writes);
  }
  t.equal(isReadOnlyTool("make_coffee"), false);
  for (const tool of listedTools()) {
    t.match(tool, {
      name: String,
      title: String,
      description: String,
      inputSchema: { type: "object", additionalProperties: false },
    });
    t.ok(Array.isArray(tool.inputSchema.required), tool.name);
  }
});

t.test("the instructions name the way through, and schedules only where tools manage them", async (t) => {
  for (const name of ["list_flows", "run_flow", "get_run", "run_logs", "explain_failure"]) t.match(mcpInstructions(), name);
  t.notMatch(mcpInstructions({}), /schedule tools/);
  t.match(mcpInstructions({ create_schedule: MCP_TOOLS.run_flow }), /schedule tools/);
});

t.test("arguments are read by the schema", async (t) => {
  const read = (name: keyof typeof MCP_TOOLS, args: unknown) => readArguments(MCP_TOOLS[name].input, args);
  for (const [limit, expected] of [
    [0, 1],
    [5, 5],
    [9999, 200],
    ["5", 20],
    [null, 20],
    [1.5, 20],
    [undefined, 20],
  ])
    t.same(read("list_runs", { limit }), { limit: expected }, `limit ${limit}`);
  t.same(read("list_runs", undefined), { limit: 20 });
  t.same(read("list_runs", { flow: "x", project: null, undeclared: 1 }), { limit: 20, flow: "x" });
  t.throws(() => read("list_runs", { flow: 5 }), { message: "flow must be a string" });
  for (const run_id of [undefined, null, "9", 1.5, {}])
    t.throws(() => read("get_run", { run_id }), { message: "run_id must be an integer" });
  for (const flow of [undefined, null, ""]) t.throws(() => read("run_flow", { flow }), { message: "flow is required" });
  t.throws(() => read("run_flow", { flow: "f", parameters: [] }), { message: "parameters must be an object" });
  t.throws(() => read("run_flow", { flow: "f", tags: ["a", 1] }), { message: "tags must be a list of strings" });
  t.same(read("resume_run", { run_id: 1 }), { run_id: 1, input: null }, "a missing answer is null");
  t.same(read("resume_run", { run_id: 1, input: false }), { run_id: 1, input: false });
});

t.test("a result is indented JSON with sorted keys, and the same as structured content", async (t) => {
  const { context } = api({ cancelRun: { state: 1, id: 2 } });
  const { isError, text, structuredContent } = await call(context, "cancel_run", { run_id: 2 });
  t.equal(isError, false);
  t.equal(text, '{\n  "run": {\n    "id": 2,\n    "state": 1\n  }\n}');
  t.same(structuredContent, { run: { id: 2, state: 1 } });
});

t.test("flows are described by what a caller needs", async (t) => {
  const { context, asked } = api();
  const { structuredContent } = await call(context, "list_flows", { project: "shop" });
  t.match(asked, [{ operation: "listFlows", request: { query: { project: "shop" } } }]);
  t.notOk(JSON.stringify(structuredContent).includes("secret"));
});

t.test("run_flow names one flow and says who asked", async (t) => {
  const run = { id: 7, state: { type: "Scheduled", name: "Scheduled" } };
  const { context, asked } = api({ createRun: run });
  t.match(await call(context, "run_flow", { flow: "crm/orders", parameters: { a: 1 } }), { isError: false });
  t.match(asked[1], {
    operation: "createRun",
    request: { body: { project: "crm", flow: "orders", parameters: { a: 1 }, created_by: "mcp:editor" } },
  });
  t.match(await call(context, "run_flow", { flow: "leads" }), { isError: false });
  t.match(await call(context, "run_flow", { flow: "orders" }), {
    isError: true,
    text: 'flow "orders" exists in several projects; use project/flow: shop/orders, crm/orders',
  });
  t.match(await call(context, "run_flow", { flow: "x" }), { isError: true, text: /^flow "x" is not registered/ });
});

t.test("a run that an overlap policy ended at once is not called started", async (t) => {
  const skipped = { id: 7, state: { type: "Completed", name: "Skipped", message: "another run is active" } };
  const { text } = await call(api({ createRun: skipped }).context, "run_flow", { flow: "leads" });
  t.match(text, /Run 7 has ended already as Skipped: another run is active/);
});

t.test("lists take a flow by name or with its project", async (t) => {
  const { context, asked } = api();
  await call(context, "list_runs", { flow: "shop/orders", name: "n", cursor: 9 });
  await call(context, "list_artifacts", { flow: "orders", project: "shop", cursor: 9 });
  t.match(asked[0]?.request.query, { project: "shop", flow: "orders", exact_name: "n", limit: 20, cursor: 9 });
  t.match(asked[1]?.request.query, { project: "shop", flow: "orders", limit: 50, after: 9 });
});

t.test("explain_failure gives a verdict", async (t) => {
  const tasks = [{ state: { type: "Completed" } }, { state: { type: "Crashed" } }];
  const verdict = async (state: object) => {
    const { context } = api({ getRun: { state }, listRunTasks: tasks });
    return (await call(context, "explain_failure", { run_id: 1 })).structuredContent;
  };
  t.match(await verdict({ type: "Failed", name: "TimedOut", message: "too slow" }), {
    verdict: "too slow",
    failed_task_runs: [{ state: { type: "Crashed" } }],
    error_logs: [],
    events: [],
  });
  t.match(await verdict({ type: "Running", name: "Running", message: null }), { verdict: "the run is Running, not failed" });
  t.match(await verdict({ type: "Crashed", name: "Crashed", message: null }), { verdict: /no message was recorded/ });
});

t.test("logs of an unknown run are empty, other failures are told", async (t) => {
  const missing = api({ listRunLogs: new ToolFailure("run 9 not found", 404) });
  t.match((await call(missing.context, "run_logs", { run_id: 9 })).structuredContent, { logs: [], next_cursor: null });
  const busy = api({ listRunLogs: new ToolFailure("too many requests", 503) });
  t.match(await call(busy.context, "run_logs", { run_id: 9 }), { isError: true, text: "too many requests" });
});

t.test("failures say what to do next", async (t) => {
  const refused = (status: number, error: string) => ({ kind: "answered", status, body: JSON.stringify({ error }) }) as const;
  t.equal(failureOf("getRun", refused(404, "run 9 not found")).message, "run 9 not found. list_runs shows which runs exist.");
  t.match(failureOf("resumeRun", refused(409, "run is Late, not Paused")).message, /^run is Late, not Paused\. Only a run/);
  t.match(failureOf("createRun", refused(503, "the server is restarting")).message, /Nothing was changed/);
  t.equal(failureOf("listEvents", refused(400, "bad")).message, "bad");
  t.match(failureOf("cancelRun", { kind: "cut" }).message, /before trying again/);
});

t.test("an unknown tool is a wrong parameter, and a defect is no tool's failure", async (t) => {
  for (const name of ["make_coffee", "constructor", 5, undefined])
    t.match(await callTool(api().context, { name }), { error: { code: -32602 } }, String(name));
  await t.rejects(call(api({ getRun: new TypeError("defect") }).context, "get_run", { run_id: 1 }), { message: "defect" });
});
