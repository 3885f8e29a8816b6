/**
 * The Model Context Protocol endpoint as data: versions, instructions, resource templates and prompts. The tools are in
 * mcp-tools.ts. The answers are made in gateway/mcp/.
 */
import { isExactInteger } from "../values/json.ts";

/** The version in the answer to `initialize`, whichever version the client requested. */
export const MCP_PROTOCOL_VERSION = "2025-06-18";

/** Accepted values of the header MCP-Protocol-Version: our messages have not changed between these versions. */
export const MCP_PROTOCOL_VERSIONS: ReadonlySet<string> = new Set([
  "2024-11-05",
  "2025-03-26",
  MCP_PROTOCOL_VERSION,
  "2025-11-25",
]);

/** Scheme of the URIs of MCP resources. */
export const MCP_SCHEME = "millrace";

/** Codes of JSON-RPC errors, and the one MCP adds for resources. */
export const RPC_ERROR = {
  parse: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal: -32603,
  resource_not_found: -32002,
  /** From the stdio proxy: the server cannot be reached, or refused the message as a whole. */
  unreachable: -32000,
  /** From the stdio proxy: the server requires a token, or rejected the given one. */
  unauthorized: -32001,
} as const;

/** Valid ids of a JSON-RPC request: text, a number of any length, or null. */
export function isRpcId(id: unknown): boolean {
  return id === null || typeof id === "string" || typeof id === "number" || isExactInteger(id);
}

/** The instructions a model gets when it connects. */
export function mcpInstructions(readOnly: boolean): string {
  return [
    "Millrace runs pipelines: flows made of tasks.",
    ...(readOnly
      ? [
          "This server lets an agent only read: tools that change something (run_flow and others) are not offered.",
          "Call list_flows to see what can run. Runs are seen with list_runs, one run with get_run and its log with run_logs.",
        ]
      : [
          "Call list_flows to see what can run and which parameters it takes, and run_flow to start work.",
          "run_flow does not wait: wait for the run with wait_for_run, see it with get_run, and read its log with run_logs.",
        ]),
    "When a run ends Failed or Crashed, call explain_failure before anything else.",
    "A flow needs no schedule; it runs on demand.",
    ...(readOnly ? [] : ["The schedule tools manage recurrence.", "Tools that change something take effect immediately."]),
    "Times are integers: microseconds since the Unix epoch, UTC.",
  ].join(" ");
}

/** A kind of resource: what a URI reads. */
export interface McpResourceTemplate {
  /** The part of the run to read. */
  part: "logs" | "artifacts";
  name: string;
  description: string;
}

export const MCP_RESOURCE_MIME = "application/json";

export const MCP_RESOURCE_TEMPLATES: readonly McpResourceTemplate[] = [
  { part: "logs", name: "Run logs", description: "The last log lines of a run, oldest first" },
  { part: "artifacts", name: "Run artifacts", description: "Artifacts of a run, oldest first" },
];

/** `{id}` stands for the id of a run. */
export function resourceUri(part: McpResourceTemplate["part"], run: number | "{id}"): string {
  return `${MCP_SCHEME}://runs/${run}/${part}`;
}

export interface PromptArgument {
  name: string;
  description: string;
  required: boolean;
  /** Form of the value. The message reads like the user's own words, so this keeps other people's text out of it. */
  form: RegExp;
  /** The form in words. */
  expected: string;
}

export interface McpPrompt {
  title: string;
  description: string;
  arguments: readonly PromptArgument[];
  /** The text of its only message, from the arguments. */
  render(values: Readonly<Record<string, string>>): string;
}

export const MCP_PROMPTS: Readonly<Record<string, McpPrompt>> = {
  diagnose_run: {
    title: "Diagnose a run",
    description: "Find out why a run failed, and what to do next",
    arguments: [{ name: "run_id", description: "Id of the run", required: true, form: /^\d{1,16}$/, expected: "an integer" }],
    render: ({ run_id = "" }) =>
      `Find out why run ${run_id} failed. Call explain_failure with run_id ${run_id}, then read its failed task runs, ` +
      "error logs and events. Summarise the root cause in two sentences and suggest one next step.",
  },
};
