/** Every command of the command line, in the order of its help. */
import type { CommandSpec } from "../command-spec.ts";
import { ARTIFACTS } from "./artifacts.ts";
import { BACKFILL } from "./backfill.ts";
import { ENGINE } from "./engine.ts";
import { EVENTS } from "./events.ts";
import { FLOWS } from "./flows.ts";
import { HOME_COMMANDS } from "./home.ts";
import { MCP } from "./mcp.ts";
import { RULES } from "./rules.ts";
import { RUN } from "./run.ts";
import { RUNS } from "./runs.ts";
import { SCHEDULES } from "./schedules.ts";
import { SERVE } from "./serve.ts";
import { VARIABLES } from "./variables.ts";

export const COMMANDS: readonly CommandSpec[] = [
  SERVE,
  RUN,
  RUNS,
  FLOWS,
  BACKFILL,
  SCHEDULES,
  EVENTS,
  RULES,
  VARIABLES,
  ARTIFACTS,
  ENGINE,
  MCP,
  ...HOME_COMMANDS,
];
