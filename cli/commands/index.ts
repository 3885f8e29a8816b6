/** Every command of the command line, in the order of its help. */
import type { CommandSpec } from "../command-spec.ts";
import { BACKFILL } from "./backfill.ts";
import { ENGINE } from "./engine.ts";
import { HOME_COMMANDS } from "./home.ts";
import { MCP } from "./mcp.ts";
import { RUN } from "./run.ts";
import { RUNS } from "./runs.ts";
import { SCHEDULES } from "./schedules.ts";
import { SERVE } from "./serve.ts";

export const COMMANDS: readonly CommandSpec[] = [SERVE, RUN, RUNS, BACKFILL, SCHEDULES, ENGINE, MCP, ...HOME_COMMANDS];
