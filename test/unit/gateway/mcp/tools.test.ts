import t from "tap";
import type { ApiRequest, AskApi } from "#gateway/mcp/api-calls";
import { readArguments } from "#gateway/mcp/arguments";
import { callTool } from "#gateway/mcp/tool-call";
import { failureOf, ToolFailure } from "#gateway/mcp/tool-failure";
import { TOOL_HANDLERS } from "#gateway/mcp/tools";
import { mcpInstructions } from "#protocol/mcp/mcp";
import type { McpTool } from "#protocol/mcp/mcp-tool";
import { isReadOnlyTool, listTools, MCP_TOOLS } from "#protocol/mcp/mcp-tools";
import { STATE_TYPES } from "#protocol/records/state";
import { ROUTES } from "#protocol/routes/routes";

const tools = Object.entries<McpTool>(MCP_TOOLS);
const FLOWS = [
  { project: "shop", name: "orders", id: 1, module: "secret" },
  { project: "crm", name: "orders", id: 2 },
  { project: "crm", name: "leads", id: 3 },
];

/** A stub of the API with these answers by operation; records the calls. */
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

async function call(context: ReturnType<typeof api>["context"], name: string, args: unknown, readOnly = false) {
  const { result } = (await callTool({ ...context, readOnly }, { name, arguments: args })) as Said;
  return { ...result, text: result.content[0]?.text ?? "" };
}

/** Arguments with which every tool makes all its calls of the API. */
const ARGUMENTS = {
  run_id: 1,
  schedule_id: 1,
  flow: "crm/leads",
  name: "n",
  value: 1,
  input: 1,
  kind: "cron",
  parameter: "day",
  start: "2026-01-01",
  end: "2026-01-02",
};

/** The required arguments of a tool. */
function neededBy({ required = [] }: { required?: readonly string[] }): Record<string, unknown> {
  return Object.fromEntries(Object.entries(ARGUMENTS).filter(([name]) => required.includes(name)));
}

t.test("each tool has a handler, and one that only reads asks for nothing else", async (t) => {
  t.same(Object.keys(TOOL_HANDLERS).sort(), tools.map(([name]) => name).sort());
  const methods = new Map<string, string>(ROUTES.map(({ operation, method }) => [operation, method]));
  const record = { state: { type: "Failed", name: "Failed" }, schedules: [], source: "ui", active: true };
  for (const [name, { annotations }] of tools) {
    const { context, asked } = api(
      Object.fromEntries([
        ["listFlows", [{ project: "crm", name: "leads", id: 3, schedules: [] }]],
        ...ROUTES.flatMap(({ operation }) => (operation.startsWith("list") ? [] : [[operation, record]])),
      ]),
    );
    await TOOL_HANDLERS[name as keyof typeof TOOL_HANDLERS](context, ARGUMENTS as never);
    t.ok(asked.length > 0, name);
    t.equal(
      asked.every(({ operation }) => methods.get(operation) === "GET"),
      annotations.readOnlyHint,
      `${name} asks for ${asked.map(({ operation }) => operation).join(", ")}`,
    );
    t.equal(isReadOnlyTool(name), annotations.readOnlyHint);
  }
  t.equal(isReadOnlyTool("make_coffee"), false);
});

t.test("a server that is read-only calls no tool that changes something", async (t) => {
  const { context, asked } = api();
  for (const [name, { annotations }] of tools.filter(([, tool]) => !tool.annotations.readOnlyHint)) {
    const { isError, text } = await call(context, name, ARGUMENTS, true);
    t.ok(isError && annotations.readOnlyHint === false);
    t.match(text, new RegExp(`^${name} was not called: .*mcp_read_only.*ask the person`));
  }
  t.same(asked, []);
  t.match(await call(context, "list_flows", {}, true), { isError: false });
});

t.test("wrong arguments are told with those that the tool takes", async (t) => {
  const { text } = await call(api().context, "cancel_run", { run_id: "five" });
  t.equal(text, "run_id must be an integer. Correct that and call again; cancel_run takes run_id (integer, required).");
  t.match((await call(api().context, "resume_run", {})).text, /takes run_id \(integer, required\), input \(any JSON, required\)/);
  t.match((await call(api().context, "backfill", { flow: 1 })).text, /interval \(string or number\)/);
});

t.test("a listed tool says what it takes", async (t) => {
  const listed = listTools(false);
  t.equal(listed.length, tools.length);
  for (const tool of listed) {
    t.match(tool, { name: String, title: String, description: String, annotations: { openWorldHint: false } });
    t.match(tool.inputSchema, { type: "object", additionalProperties: false });
    t.ok(Array.isArray(tool.inputSchema.required), tool.name);
  }
});

t.test("the instructions name the way through, and promise no more than is offered", async (t) => {
  for (const name of ["list_flows", "run_flow", "get_run", "run_logs", "explain_failure", "schedule tools"])
    t.match(mcpInstructions(false), name);
  for (const name of ["list_flows", "list_runs", "get_run", "run_logs", "explain_failure", "only read"])
    t.match(mcpInstructions(true), name);
  t.notMatch(mcpInstructions(true), /schedule tools|immediately/);
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
  t.same(read("list_runs", { flow: "x", project: null }), { limit: 20, flow: "x" });
  t.throws(() => read("list_runs", { flow: 5 }), { message: "flow must be a string" });
  for (const run_id of [undefined, null, "nine", " 9", "9.0", "99999999999999999999", 1.5, {}])
    t.throws(() => read("cancel_run", { run_id }), { message: "run_id must be an integer" });
  for (const run_id of [9, "9", "+9"])
    t.same(read("cancel_run", { run_id }), { run_id: 9 }, "models send ids as text now and then");
  for (const flow of [undefined, null, ""]) t.throws(() => read("run_flow", { flow }), { message: "flow is required" });
  t.throws(() => read("run_flow", { flow: "f", parameters: [] }), { message: "parameters must be an object" });
  t.throws(() => read("run_flow", { flow: "f", tags: ["a", 1] }), { message: "tags must be a list of strings" });
  t.same(read("resume_run", { run_id: 1 }), { run_id: 1, input: null }, "a missing answer is null");
  t.same(read("resume_run", { run_id: 1, input: false }), { run_id: 1, input: false });
});

t.test("an argument that a tool does not declare is refused, and the known ones are named", async (t) => {
  for (const [name] of tools) {
    const { context, asked } = api();
    const { isError, text } = await call(context, name, { praority: 5 });
    t.equal(isError, true, name);
    t.match(text, /^unknown argument "praority"/);
    t.match(text, new RegExp(`; ${name} takes (no arguments|\\w+ \\()`));
    t.same(asked, [], "nothing is done");
  }
  const { text } = await call(api().context, "run_flow", { flow: "leads", priority: 5 });
  t.match(text, /^unknown argument "priority"\. .*run_flow takes flow \(string, required\), .*parameters \(object\)/);
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}${"x".repeat(1_000)}`, at]));
  const said = await call(api().context, "list_rules", many);
  t.match(said.text, /and 45 more\. Correct that and call again; list_rules takes no arguments\.$/);
  t.ok(said.text.length < 600, "what the caller sent is cut short");
  t.match(await call(api().context, "list_rules", [1]), { isError: true, text: /^arguments must be an object/ });
});

t.test("a value that an argument cannot have is refused, and the known ones are named", async (t) => {
  const known: Record<string, readonly string[]> = {};
  for (const [name, { input }] of tools)
    for (const [argument, schema] of Object.entries(input.properties as Record<string, { enum?: readonly string[] }>)) {
      if (schema.enum === undefined) continue;
      known[`${name} ${argument}`] = schema.enum;
      const { context, asked } = api();
      const { isError, text } = await call(context, name, { ...neededBy(input), [argument]: "Fialed" });
      t.equal(isError, true, `${name} ${argument}`);
      t.match(
        text,
        `${argument} must be one of ${schema.enum.join(", ")}, not "Fialed". Correct that and call again; ${name} takes`,
      );
      t.same(asked, [], "nothing is done");
    }
  t.same(known, {
    "list_runs state_type": STATE_TYPES,
    "list_artifacts kind": ["markdown", "table", "progress", "link", "image"],
    "create_schedule kind": ["cron", "interval", "rrule"],
    "create_schedule catchup": ["skip", "latest", "all"],
    "edit_schedule catchup": ["skip", "latest", "all"],
  });
  const events = (name: string) => call(api().context, "list_events", { name });
  t.match(await events("run.fialed"), { isError: true, text: /nothing emits it.*did you mean "run\.failed"\?.*call again/ });
  t.match(await events(`run.${"x".repeat(65_000)}`), { isError: true });
  for (const name of ["run.failed", "run.*", "order.paid", "*"]) t.match(await events(name), { isError: false }, name);
});

t.test("an empty list says so where there is no flow of that name", async (t) => {
  for (const tool of ["list_runs", "list_artifacts"]) {
    const list = (args: object) => call(api().context, tool, args);
    t.match(await list({ flow: "laeds" }), { isError: true, text: /^flow "laeds" is not registered\. list_flows/ }, tool);
    t.match(await list({ flow: "shop/leads" }), { isError: true }, tool);
    for (const args of [{ flow: "leads" }, { flow: "crm/leads" }, { flow: "orders", project: "shop" }, {}])
      t.match(await list(args), { isError: false }, `${tool} ${JSON.stringify(args)}`);
  }
});

t.test("run_flow refuses what is no argument of it beside the flow's name, and starts nothing", async (t) => {
  for (const wrong of ["params", "parameter", "priority", "tag"]) {
    const { context, asked } = api();
    const { isError, text } = await call(context, "run_flow", { flow: "leads", [wrong]: {} });
    t.match({ isError, text }, { isError: true, text: new RegExp(`^unknown argument "${wrong}"`) });
    t.same(asked, []);
  }
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
  t.match(asked[0], { operation: "listFlows", request: { query: { reference: "crm/orders" } } }, "the others are not listed");
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
  const artifacts = asked.find(({ operation }) => operation === "listArtifacts");
  t.match(artifacts?.request.query, { project: "shop", flow: "orders", limit: 50, after: 9 });
});

t.test("explain_failure gives a verdict", async (t) => {
  const tasks = { items: [{ id: 2, state: { type: "Crashed" } }], next_cursor: null };
  const verdict = async (state: object) => {
    const { context } = api({ getRun: { state }, listTaskRuns: tasks });
    return (await call(context, "explain_failure", { run_id: 1 })).structuredContent;
  };
  t.match(await verdict({ type: "Failed", name: "TimedOut", message: "too slow" }), {
    verdict: "too slow",
    failed_task_runs: [{ state: { type: "Crashed" } }],
    error_logs: [],
    events: [],
  });
  const { context, asked } = api({ getRun: { state: {} } });
  await call(context, "explain_failure", { run_id: 1 });
  t.match(asked[1], { operation: "listTaskRuns", request: { query: { run_id: 1, state_type: "Failed" } } });
  t.match(asked[2], { operation: "listTaskRuns", request: { query: { run_id: 1, state_type: "Crashed" } } });
  t.match(asked[3], { operation: "listRunLogs", request: { query: { level: 30, tail: true } } }, "the end of the log");
  t.match(await verdict({ type: "Running", name: "Running", message: null }), { verdict: "the run is Running, not failed" });
  t.match(await verdict({ type: "Crashed", name: "Crashed", message: null }), { verdict: /no message was recorded/ });
});

t.test("wait_for_run says how the run ended and what it returned, with the last lines from warning upwards", async (t) => {
  const state = { type: "Completed", name: "Completed", details: { result: { rows: 3 }, other: 1 } };
  const { context, asked } = api({ getRun: { state }, listRunLogs: { items: [{ id: 5 }], next_cursor: null } });
  t.match((await call(context, "wait_for_run", { run_id: 1 })).structuredContent, {
    ended: true,
    state: { type: "Completed", details: { result: undefined, other: 1 } },
    result: { rows: 3 },
    waits_for: null,
    logs: [{ id: 5 }],
  });
  t.match(asked[0]?.request, { id: 1, query: { wait_ms: 30_000 } });
  t.match(asked[1]?.request, { query: { level: 30, limit: 20, tail: true } });
  t.equal(asked.length, 2, "a run that has ended waits for nothing");
});

t.test("wait_for_run waits as long as asked, in requests of half a minute, and says what a run waits for", async (t) => {
  const { context, asked } = api({
    getRun: { state: { type: "Scheduled", name: "Scheduled", details: {} } },
    explainRun: { reason: { text: "no engine is free" } },
  });
  const { structuredContent } = await call(context, "wait_for_run", { run_id: 1, timeout_s: 90 });
  t.match(structuredContent, { ended: false, result: null, waits_for: "no engine is free" });
  const waits = asked.filter(({ operation }) => operation === "getRun").map(({ request }) => request.query?.["wait_ms"]);
  t.same(waits, [30_000, 20_000]);
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
  t.equal(
    failureOf("listEvents", refused(400, "bad")).message,
    "bad. Nothing was changed. Correct the arguments and call again.",
  );
  t.match(failureOf("cancelRun", { kind: "cut" }).message, /before trying again/);
  for (const { operation } of ROUTES)
    for (const status of [400, 404, 409, 413, 422, 500, 503, 507])
      t.match(failureOf(operation, refused(status, "said so.")).message, /^said so\. \w.{20,}\.$/, `${operation} ${status}`);
});

t.test("an unknown tool is a wrong parameter, and a defect is no tool's failure", async (t) => {
  for (const name of ["make_coffee", "constructor", 5, undefined])
    t.match(await callTool({ ...api().context, readOnly: false }, { name }), { error: { code: -32602 } }, String(name));
  await t.rejects(call(api({ getRun: new TypeError("defect") }).context, "get_run", { run_id: 1 }), { message: "defect" });
});

t.test("schedules of all flows, or of one", async (t) => {
  const row = (id: number) => ({ id, active: true, source: "ui", schedule: { kind: "cron" }, external_id: "secret" });
  const flows = [
    { project: "shop", name: "orders", id: 1, schedules: [row(3)] },
    { project: "crm", name: "leads", id: 3, schedules: [row(2)] },
  ];
  const { ask, client } = api({ listFlows: flows }).context;
  const list = async (args: object) => TOOL_HANDLERS.list_schedules({ ask, client }, args);
  t.match(await list({}), {
    schedules: [
      { id: 2, flow: "leads" },
      { id: 3, flow: "orders", project: "shop" },
    ],
  });
  t.match(await list({ flow: "leads" }), { schedules: [{ id: 2 }] });
  t.notOk(JSON.stringify(await list({})).includes("secret"));
});

t.test("a schedule is shown with its next fires", async (t) => {
  const row = {
    id: 4,
    schedule: { kind: "cron", cron: "0 3 * * *", timezone: "UTC" },
    source: "mcp",
    persist: true,
    active: true,
  };
  const { context, asked } = api({ createSchedule: row, previewSchedule: { next: [1, 2, 3], timezone: "UTC" } });
  const args = { flow: "crm/leads", kind: "cron", cron: "0 3 * * *" } as const;
  t.same(await TOOL_HANDLERS.create_schedule(context, args), { next_fires: [1, 2, 3], schedule: row });
  t.match(asked[1], { operation: "createSchedule", request: { id: 3, body: { kind: "cron", cron: "0 3 * * *" } } });
  t.match(asked[2]?.request.body, { kind: "cron", count: 3 });
  const wrong = api({ createSchedule: new ToolFailure("unknown timezone", 422) });
  await t.rejects(TOOL_HANDLERS.create_schedule(wrong.context, args), { message: "schedule is not valid: unknown timezone" });
});

t.test("an edit of a schedule says what it is worth", async (t) => {
  const note = async (row: object) => {
    const { context } = api({ patchSchedule: { schedule: {}, ...row }, previewSchedule: { next: [] } });
    return (await TOOL_HANDLERS.edit_schedule(context, { schedule_id: 1 }))["note"];
  };
  t.equal(await note({ source: "ui", persist: true, active: true }), undefined);
  t.match(await note({ source: "code", persist: false, active: true }), /until the server starts again/);
  t.match(await note({ source: "ui", persist: true, active: false }), /paused/);
});

t.test("a backfill is tried before it is made", async (t) => {
  const { context, asked } = api({ createBackfill: { dry_run: true, runs: 3 } });
  const args = { flow: "crm/leads", parameter: "day", start: "2026-01-01", end: "2026-01-03" };
  t.same(await TOOL_HANDLERS.backfill(context, { ...args, dry_run: true }), { dry_run: true, runs: 3 });
  t.match(asked[1], { operation: "createBackfill", request: { id: 3, body: { parameter: "day", dry_run: true } } });
  t.same(await TOOL_HANDLERS.backfill(context, { ...args, dry_run: false }), {
    backfill: { dry_run: true, runs: 3 },
    dry_run: false,
  });
  const read = (args: object) =>
    readArguments(MCP_TOOLS.backfill.input, { ...args, flow: "f", parameter: "p", start: "a", end: "b" });
  t.match(read({}), { dry_run: true, concurrency: 1, interval: "1d" });
  t.match(read({ interval: 3600 }), { interval: 3600 });
  t.throws(() => read({ interval: [] }), { message: "interval must be a string or a number" });
});
