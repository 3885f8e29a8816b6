/** tools/call: reads the arguments, runs the tool, and writes what came of it for a model. */
import { prettyJson } from "#protocol/json";
import { isToolName, type ToolName } from "#protocol/mcp-tools";
import { readArguments } from "./arguments.ts";
import { type RpcOutcome, rpcError } from "./json-rpc.ts";
import type { ToolContext, ToolResult } from "./run-tools.ts";
import { ToolFailure } from "./tool-failure.ts";
import { SERVED_TOOLS, TOOL_HANDLERS } from "./tools.ts";

export async function callTool(context: ToolContext, params: Readonly<Record<string, unknown>>): Promise<RpcOutcome> {
  const { name } = params;
  const tool = typeof name === "string" && isToolName(name) ? SERVED_TOOLS.get(name) : undefined;
  if (tool === undefined) {
    return rpcError("invalid_params", `unknown tool ${JSON.stringify(name ?? null)}; tools/list has the tools`);
  }
  try {
    const args = readArguments(tool.input, params["arguments"]);
    // The arguments were read by the schema of this tool, which is what its handler takes.
    const handler = TOOL_HANDLERS[name as ToolName] as (context: ToolContext, args: unknown) => Promise<ToolResult>;
    const result = await handler(context, args);
    return { result: { content: [{ type: "text", text: prettyJson(result) }], isError: false, structuredContent: result } };
  } catch (cause) {
    if (!(cause instanceof ToolFailure)) throw cause;
    return { result: { content: [{ type: "text", text: cause.message }], isError: true } };
  }
}
