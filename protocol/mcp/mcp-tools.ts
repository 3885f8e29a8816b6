/**
 * The tools of the MCP endpoint, one entry each: the description for the model, the arguments with their limits and defaults,
 * the result, and the tool's effects. gateway/mcp/tools.ts has a line per entry.
 */
import Type from "typebox";
import { VARIABLE_BYTES_MAX } from "../limits.ts";
import { RuleRow } from "../records/rule.ts";
import { VariableRow } from "../records/variable.ts";
import { AnyJson, Names, sizedJson } from "../values/scalar.ts";
import { RUN_TOOLS } from "./mcp-run-tools.ts";
import { SCHEDULE_TOOLS } from "./mcp-schedule-tools.ts";
import { ENDS, input, type McpTool, output, READS, text } from "./mcp-tool.ts";

const OTHER_TOOLS = {
  list_rules: {
    title: "List rules",
    description: "Rules that act on events, with what they match, what they do and how often they fired.",
    input: input({}),
    output: output({ rules: Type.Array(RuleRow) }),
    annotations: READS,
  },
  set_variable: {
    title: "Set a variable",
    description: "Stores a named JSON value that flows can read. An existing one is replaced.",
    input: input({
      name: text("Lower-case letters, digits and _ . / -"),
      value: sizedJson(VARIABLE_BYTES_MAX, AnyJson, "Any JSON value"),
      secret: Type.Optional(
        Type.Boolean({
          description: "Encrypt it at rest and mask it; default false, but what is secret stays so: false is refused",
        }),
      ),
      tags: Type.Optional(Names),
    }),
    output: output({ variable: VariableRow }),
    annotations: ENDS,
  },
} as const satisfies Record<string, McpTool>;

export const MCP_TOOLS = { ...RUN_TOOLS, ...SCHEDULE_TOOLS, ...OTHER_TOOLS };

export type ToolName = keyof typeof MCP_TOOLS;

export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(MCP_TOOLS, name);
}

/** True for a tool that changes nothing; false for unknown names. */
export function isReadOnlyTool(name: string): boolean {
  return isToolName(name) && MCP_TOOLS[name].annotations.readOnlyHint;
}

/** The entries of tools/list; with `readOnly` only the tools that change nothing. */
export function listTools(readOnly: boolean) {
  const tools = Object.entries<McpTool>(MCP_TOOLS).filter(([name]) => !readOnly || isReadOnlyTool(name));
  return tools.map(([name, { title, description, input, output, annotations }]) => {
    const { properties, required = [] } = input as { properties: unknown; required?: readonly string[] };
    const inputSchema = { type: "object", properties, required, additionalProperties: false };
    return { name, title, description, inputSchema, outputSchema: leanResult(output), annotations };
  });
}

/** The answer of a read-only host to a call of another tool. */
export function readOnlyRefusal(name: string, where: string): string {
  return (
    `${name} was not called: ${where} and lets an agent only read. ` +
    "Do not try again; say what you would change and ask the person to do it."
  );
}

/** Keywords of a schema that a caller does not need, although every record has them. */
const LEFT_OUT: ReadonlySet<string> = new Set(["title", "description", "format", "pattern", "minimum", "maximum", "required"]);

/**
 * The result of a tool: descriptions for its top keys, only types below them, because some hosts pass all of it to the model.
 */
function leanResult(output: McpTool["output"]): unknown {
  const { properties, required, ...rest } = output as unknown as { properties: Record<string, { description?: string }> } & {
    required?: readonly string[];
  };
  const keys = Object.entries(properties).map(([name, schema]) => {
    const { description } = schema;
    return [name, { ...(leanSchema(schema) as object), ...(description !== undefined && { description }) }];
  });
  const always = required === undefined ? {} : { required };
  return { ...(leanSchema(rest) as object), ...always, properties: Object.fromEntries(keys) };
}

function leanSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(leanSchema);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema)
    .filter(([keyword, value]) => !LEFT_OUT.has(keyword) && !(keyword === "additionalProperties" && value === true))
    .map(([keyword, value]) => [keyword, keyword === "properties" ? leanProperties(value as object) : leanSchema(value)]);
  return shortUnion(Object.fromEntries(entries));
}

function leanProperties(properties: object): unknown {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, leanSchema(schema)]));
}

/** "T or null" with both types in one list, where that is equivalent. */
function shortUnion(schema: Record<string, unknown>): unknown {
  const { anyOf, ...rest } = schema;
  const [given, none, more] = Array.isArray(anyOf) ? (anyOf as Record<string, unknown>[]) : [];
  const plain = more === undefined && none?.["type"] === "null" && typeof given?.["type"] === "string" && !("enum" in given);
  return plain ? { ...given, ...rest, type: [given["type"], "null"] } : schema;
}
