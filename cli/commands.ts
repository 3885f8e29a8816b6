/** Every command of the command line, in the order of its help. */

import { ARTIFACTS } from "./artifacts/artifacts-command.ts";
import { BACKFILL } from "./backfill/backfill-command.ts";
import type { CommandSpec } from "./command-spec.ts";
import { ENGINE } from "./engine/engine-command.ts";
import { EVENTS } from "./events/events-command.ts";
import { FLOWS } from "./flows/flows-command.ts";
import { HOME_COMMANDS } from "./home/home-commands.ts";
import { IMPORT } from "./import/import-command.ts";
import { LOGS } from "./logs/logs-command.ts";
import { MCP } from "./mcp/mcp-command.ts";
import { PROJECT_COMMANDS } from "./project/project-commands.ts";
import { RULES } from "./rules/rules-command.ts";
import { RUN } from "./run/run-command.ts";
import { RUNS } from "./runs/runs-command.ts";
import { SCHEDULES } from "./schedules/schedules-command.ts";
import { SERVE } from "./serve/serve-command.ts";
import { VARIABLES } from "./variables/variables-command.ts";

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
  LOGS,
  IMPORT,
  ENGINE,
  MCP,
  ...PROJECT_COMMANDS,
  ...HOME_COMMANDS,
];
