/**
 * The tools of the MCP endpoint, one entry each: what a model is told, the arguments with their limits and defaults, what the
 * tool does to the world, and the operations of the route table that answer it. gateway/mcp/tools.ts has a line per entry.
 */
import Type from "typebox";
import { RUN_TOOLS } from "./mcp-run-tools.ts";
import { SCHEDULE_TOOLS } from "./mcp-schedule-tools.ts";
import { ENDS, input, type McpTool, READS, text } from "./mcp-tool.ts";

const OTHER_TOOLS = {
  list_rules: {
    title: "List rules",
    description: "Rules that act on events, with what they match, what they do and how often they fired.",
    input: input({}),
    annotations: READS,
    operations: ["listRules"],
  },
  set_variable: {
    title: "Set a variable",
    description: "Stores a named JSON value that flows can read. An existing one is replaced.",
    input: input({
      name: text("Lower-case letters, digits and _ . / -"),
      value: Type.Unknown({ description: "Any JSON value" }),
      secret: Type.Optional(
        Type.Boolean({ description: "Encrypt it and never show it again; default false, but a secret stays one" }),
      ),
      tags: Type.Optional(Type.Array(Type.String())),
    }),
    annotations: ENDS,
    operations: ["createVariable"],
  },
} as const satisfies Record<string, McpTool>;

export const MCP_TOOLS = { ...RUN_TOOLS, ...SCHEDULE_TOOLS, ...OTHER_TOOLS };

export type ToolName = keyof typeof MCP_TOOLS;

export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(MCP_TOOLS, name);
}

/** True for a tool that changes nothing. Unknown names are not. */
export function isReadOnlyTool(name: string): boolean {
  return isToolName(name) && MCP_TOOLS[name].annotations.readOnlyHint;
}

/** The tools that a server with these operations offers. */
export function toolsServedBy(operations: ReadonlySet<string>): ReadonlyMap<ToolName, McpTool> {
  const entries = Object.entries<McpTool>(MCP_TOOLS) as [ToolName, McpTool][];
  return new Map(entries.filter(([, tool]) => tool.operations.every((operation) => operations.has(operation))));
}

/** The entries of tools/list. */
export function listTools(tools: ReadonlyMap<string, McpTool>) {
  return Array.from(tools, ([name, { title, description, input, annotations }]) => {
    const { properties, required = [] } = input as { properties: unknown; required?: readonly string[] };
    const inputSchema = { type: "object", properties, required, additionalProperties: false };
    return { name, title, description, inputSchema, annotations };
  });
}
