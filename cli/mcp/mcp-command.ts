/** `millrace mcp` and its options. */
import type { CommandSpec } from "../command-spec.ts";
import type { McpOptions } from "./mcp.ts";

export const MCP: CommandSpec = {
  name: "mcp",
  description: "let an agent host speak to the running server over standard input and output",
  options: [
    { flags: "--home <dir>", description: "data directory of the server" },
    { flags: "--token <token>", description: "token of the server (default: MILLRACE_TOKEN or SERVICE_TOKEN)" },
    { flags: "--url <url>", description: "address of the server" },
    { flags: "--socket <path>", description: "Unix socket of the server" },
    { flags: "--read-only", description: "offer only tools that change nothing" },
  ],
  async run(_args, options: McpOptions) {
    const { mcp } = await import("./mcp.ts");
    return await mcp(options);
  },
};
