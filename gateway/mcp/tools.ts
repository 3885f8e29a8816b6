/** The handlers of all tools, and the tools that this server offers. */
import { type MCP_TOOLS, toolsServedBy } from "#protocol/mcp-tools";
import { ROUTES } from "#protocol/routes";
import { type Handlers, RUN_HANDLERS } from "./run-tools.ts";
import { SCHEDULE_HANDLERS } from "./schedule-tools.ts";

export const TOOL_HANDLERS: Handlers<typeof MCP_TOOLS> = {
  ...RUN_HANDLERS,
  ...SCHEDULE_HANDLERS,
  list_rules: async ({ ask }) => ({ rules: await ask("listRules") }),
  set_variable: async ({ ask }, body) => ({ variable: await ask("createVariable", { body }) }),
};

/** A tool of which an operation is not served is not offered. */
export const SERVED_TOOLS = toolsServedBy(new Set(ROUTES.map(({ operation }) => operation)));
