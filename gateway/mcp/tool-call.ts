/** tools/call: reads the arguments, runs the tool, and writes the result for a model. */

import type { McpTool } from "#protocol/mcp/mcp-tool";
import { isReadOnlyTool, isToolName, MCP_TOOLS, readOnlyRefusal, type ToolName } from "#protocol/mcp/mcp-tools";
import { prettyJson } from "#protocol/values/json";
import { readArguments } from "./arguments.ts";
import { type RpcOutcome, rpcError } from "./json-rpc.ts";
import type { ToolContext, ToolResult } from "./run-tools.ts";
import { argumentFailure, ToolFailure } from "./tool-failure.ts";
import { TOOL_HANDLERS } from "./tools.ts";

export interface CallContext extends ToolContext {
  /** Tools that change something are rejected. */
  readOnly: boolean;
}

export async function callTool(context: CallContext, params: Readonly<Record<string, unknown>>): Promise<RpcOutcome> {
  const { name } = params;
  if (typeof name !== "string" || !isToolName(name)) {
    return rpcError("invalid_params", `unknown tool ${JSON.stringify(name ?? null)}; tools/list has the tools`);
  }
  try {
    if (context.readOnly && !isReadOnlyTool(name)) {
      throw new ToolFailure(readOnlyRefusal(name, "this server is set to mcp_read_only"));
    }
    const result = await handlerOf(name)(context, argumentsOf(name, params["arguments"]));
    return { result: { content: [{ type: "text", text: prettyJson(result) }], isError: false, structuredContent: result } };
  } catch (cause) {
    if (!(cause instanceof ToolFailure)) throw cause;
    return { result: { content: [{ type: "text", text: cause.message }], isError: true } };
  }
}

function argumentsOf(name: ToolName, given: unknown): Record<string, unknown> {
  const { input }: McpTool = MCP_TOOLS[name];
  try {
    return readArguments(input, given);
  } catch (cause) {
    throw cause instanceof ToolFailure ? argumentFailure(name, input, cause.message) : cause;
  }
}

/** The arguments were read by the schema of this tool, so they have the type that its handler takes. */
function handlerOf(name: ToolName): (context: ToolContext, args: unknown) => Promise<ToolResult> {
  return TOOL_HANDLERS[name] as (context: ToolContext, args: unknown) => Promise<ToolResult>;
}
