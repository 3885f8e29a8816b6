import t from "tap";
import { MCP_PROMPTS, MCP_RESOURCE_TEMPLATES, resourceUri } from "#protocol/mcp/mcp";
import { listTools, MCP_TOOLS } from "#protocol/mcp/mcp-tools";

/**
 * The contract with hosts and their saved permissions: arguments of each tool, required ones marked, and whether the tool
 * only reads.
 */
const TOOLS: Readonly<Record<string, string>> = {
  list_flows: "reads: project",
  list_runs: "reads: flow project name state_type state_name limit cursor",
  get_run: "reads: run_id! limit cursor",
  run_logs: "reads: run_id! min_level search tail limit cursor",
  search_logs: "reads: search flow project run_id min_level limit cursor",
  list_events: "reads: name run_id flow_id limit cursor",
  list_artifacts: "reads: run_id flow project key kind limit cursor",
  explain_failure: "reads: run_id!",
  wait_for_run: "reads: run_id! timeout_s",
  explain_run: "reads: run_id!",
  list_rules: "reads: ",
  list_schedules: "reads: flow project",
  run_flow: "writes: flow! parameters name tags",
  cancel_run: "writes: run_id!",
  retry_run: "writes: run_id! from",
  resume_run: "writes: run_id! input!",
  backfill: "writes: flow! parameter! start! end! interval concurrency dry_run reverse extra_parameters",
  create_schedule: "writes: flow! project kind! cron interval rrule timezone anchor day_or catchup catchup_max parameters key",
  edit_schedule: "writes: schedule_id! cron interval rrule timezone anchor day_or catchup catchup_max parameters",
  delete_schedule: "writes: schedule_id!",
  pause_schedule: "writes: schedule_id!",
  resume_schedule: "writes: schedule_id!",
  set_variable: "writes: name! value! secret tags",
};

/** Minimum, maximum and default of the limits. */
const LIMITS: Readonly<Record<string, readonly [number, number, number]>> = {
  list_runs: [1, 200, 20],
  get_run: [1, 500, 200],
  run_logs: [1, 1000, 200],
  search_logs: [1, 200, 20],
  list_events: [1, 500, 50],
  list_artifacts: [1, 200, 50],
};

/** Some hosts pass the whole list to the model: about 12,000 tokens. */
const LISTED_CHARACTERS_MAX = 50_000;

interface Property {
  type?: unknown;
  minimum?: number;
  maximum?: number;
  default?: unknown;
}

const listed = listTools(false);
const propertiesOf = (tool: (typeof listed)[number]) => tool.inputSchema.properties as Record<string, Property>;

t.test("tools and their arguments", async (t) => {
  const shown = listed.map((tool) => {
    const names = Object.keys(propertiesOf(tool)).map((name) => (tool.inputSchema.required.includes(name) ? `${name}!` : name));
    return [tool.name, `${tool.annotations.readOnlyHint ? "reads" : "writes"}: ${names.join(" ")}`];
  });
  t.same(Object.fromEntries(shown), TOOLS);
});

t.test("limits, and other defaults", async (t) => {
  for (const tool of listed) {
    const { limit } = propertiesOf(tool);
    if (limit !== undefined) t.same([limit.minimum, limit.maximum, limit.default], LIMITS[tool.name], tool.name);
  }
  const defaults = (name: keyof typeof MCP_TOOLS) =>
    Object.fromEntries(
      Object.entries((MCP_TOOLS[name].input as { properties: Record<string, Property> }).properties).flatMap(([key, property]) =>
        property.default === undefined ? [] : [[key, property.default]],
      ),
    );
  t.same(defaults("backfill"), { interval: "1d", concurrency: 1, dry_run: true, reverse: false });
  t.same(defaults("create_schedule"), { day_or: true, catchup: "skip", catchup_max: 100 });
  t.same(defaults("edit_schedule"), {}, "what is not sent stays");
});

/** The keys of each tool's result, optional ones marked. */
const RESULTS: Readonly<Record<string, string>> = {
  list_flows: "flows",
  list_runs: "runs next_cursor",
  get_run: "run task_runs next_cursor?",
  run_logs: "logs next_cursor",
  search_logs: "logs next_cursor searched_until",
  list_events: "events next_cursor",
  list_artifacts: "artifacts next_cursor",
  wait_for_run: "run_id ended state result waits_for logs",
  explain_run: "explanation",
  explain_failure: "verdict run failed_task_runs error_logs events",
  list_rules: "rules",
  list_schedules: "schedules",
  run_flow: "run note",
  cancel_run: "run",
  retry_run: "run note",
  resume_run: "run",
  backfill: "dry_run backfill? flow? parameter? runs? first? last? interval_seconds? note?",
  create_schedule: "schedule next_fires note?",
  edit_schedule: "schedule next_fires note?",
  delete_schedule: "deleted schedule_id",
  pause_schedule: "schedule",
  resume_schedule: "schedule",
  set_variable: "variable",
};

t.test("results, told by their types alone", async (t) => {
  const shown = listed.map(({ name, outputSchema }) => {
    const { type, properties, required } = outputSchema as { type: string; properties: object; required: string[] };
    t.equal(type, "object", name);
    return [
      name,
      Object.keys(properties)
        .map((key) => (required.includes(key) ? key : `${key}?`))
        .join(" "),
    ];
  });
  t.same(Object.fromEntries(shown), RESULTS);
  t.notMatch(JSON.stringify(listed.map(({ outputSchema }) => outputSchema)), /"(minimum|format|pattern|title)":/);
  t.ok(JSON.stringify(listed).length < LISTED_CHARACTERS_MAX, "the list stays short enough to be read by a model");
});

t.test("an agent that may only read is offered what reads", async (t) => {
  t.same(
    listTools(true).map(({ name }) => name),
    listed.filter(({ annotations }) => annotations.readOnlyHint).map(({ name }) => name),
  );
});

t.test("schemas survive JSON", async (t) => {
  for (const tool of listed) t.same(JSON.parse(JSON.stringify(tool)), tool, tool.name);
});

t.test("resources and the prompt", async (t) => {
  t.same(
    MCP_RESOURCE_TEMPLATES.map(({ part, name }) => [resourceUri(part, "{id}"), name]),
    [
      ["millrace://runs/{id}/logs", "Run logs"],
      ["millrace://runs/{id}/artifacts", "Run artifacts"],
    ],
  );
  t.match(MCP_PROMPTS, { diagnose_run: { arguments: [{ name: "run_id", required: true }] } });
});
