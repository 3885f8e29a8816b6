/** The handlers of all tools. */
import type { MCP_TOOLS } from "#protocol/mcp/mcp-tools";
import { type Handlers, RUN_HANDLERS } from "./run-tools.ts";
import { SCHEDULE_HANDLERS } from "./schedule-tools.ts";

export const TOOL_HANDLERS: Handlers<typeof MCP_TOOLS> = {
  ...RUN_HANDLERS,
  ...SCHEDULE_HANDLERS,
  list_rules: async ({ ask }) => ({ rules: await ask("listRules") }),
  set_variable: async ({ ask }, body) => ({ variable: await ask("createVariable", { body }) }),
};
