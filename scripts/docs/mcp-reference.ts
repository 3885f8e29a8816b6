/** docs/reference/mcp.md: the tools and other offers for MCP clients. */
import { MCP_PROMPTS, MCP_PROTOCOL_VERSION, MCP_RESOURCE_TEMPLATES, mcpInstructions, resourceUri } from "#protocol/mcp/mcp";
import type { McpTool, ToolAnnotations } from "#protocol/mcp/mcp-tool";
import { MCP_TOOLS } from "#protocol/mcp/mcp-tools";
import { anchor, code, page, table } from "./markdown.ts";
import { aboutWords, propertiesOf, type Schema, typeWords } from "./schema-words.ts";

export function mcpReference(): string {
  const tools = Object.entries<McpTool>(MCP_TOOLS);
  const list = (reads: boolean) =>
    tools
      .filter(([, { annotations }]) => annotations.readOnlyHint === reads)
      .map(([name]) => `[${name}](${anchor(name)})`)
      .join(", ");
  return page(
    "# Tools for agents (MCP)",
    `Protocol version ${MCP_PROTOCOL_VERSION}, over \`POST /mcp\` and over \`millrace mcp\`; the [guide](../guides/mcp.md)
describes how to connect a host. A result is JSON text and the same data as structured content. A failure has \`isError: true\` and
states what to do next.`,
    `Tools that only read: ${list(true)}.\n\nTools that change something: ${list(false)}.`,
    "## Instructions for the model",
    `> ${mcpInstructions(false)}`,
    "## Tools",
    ...tools.map(([name, tool]) => toolPart(name, tool)),
    "## Resources",
    table(
      ["URI", "Content"],
      MCP_RESOURCE_TEMPLATES.map(({ part, description }) => [code(resourceUri(part, "{id}")), description]),
    ),
    "## Prompts",
    table(
      ["Prompt", "Arguments", ""],
      Object.entries(MCP_PROMPTS).map(([name, prompt]) => [
        code(name),
        prompt.arguments.map((argument) => code(argument.name)).join(", "),
        prompt.description,
      ]),
    ),
  );
}

function toolPart(name: string, { description, input, output, annotations }: McpTool): string {
  const rows = propertiesOf(input as unknown as Schema).map(({ name: argument, schema, required }) => [
    code(argument),
    typeWords(schema),
    [required ? "**needed**" : "", aboutWords(schema)].filter((part) => part !== "").join("; "),
  ]);
  const keys = propertiesOf(output as unknown as Schema).map(({ name: key, schema }) => `${code(key)} (${recordWords(schema)})`);
  return [
    `### ${name}`,
    `${description} *${hints(annotations)}*`,
    rows.length === 0 ? "" : table(["Argument", "Type", ""], rows),
    `Gives ${keys.join(", ")}.`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function hints({ readOnlyHint, destructiveHint, idempotentHint }: ToolAnnotations): string {
  if (readOnlyHint) return "Only reads.";
  return `${destructiveHint ? "Ends or replaces a record" : "Changes a record"}; ${
    idempotentHint ? "a repeated call has no further effect" : "each call takes effect again"
  }.`;
}

/** Records are described in the HTTP reference. */
function recordWords(schema: Schema): string {
  return typeWords(schema).replaceAll("](#", "](http.md#");
}
