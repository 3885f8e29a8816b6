/** Migrations in order: the version of a database is the number of migrations applied to it. */
import * as initial from "./0001-initial.ts";
import * as scheduleErrorsAndReruns from "./0002-schedule-errors-and-reruns.ts";
import * as runsEnd from "./0003-runs-by-end.ts";
import * as timesOfReceipt from "./0004-times-of-receipt.ts";
import * as clock from "./0005-clock.ts";
import * as taskCounts from "./0006-task-counts.ts";
import * as assigned from "./0007-assigned.ts";
import * as alone from "./0008-alone.ts";
import * as uncounted from "./0009-uncounted.ts";
import * as durable from "./0010-durable.ts";
import * as fires from "./0011-fires.ts";
import * as openWaits from "./0012-open-waits.ts";
import * as marks from "./0013-marks.ts";
import * as traceparent from "./0014-traceparent.ts";
import * as members from "./0015-members.ts";

export interface Migration {
  name: string;
  sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  initial,
  scheduleErrorsAndReruns,
  runsEnd,
  timesOfReceipt,
  clock,
  taskCounts,
  assigned,
  alone,
  uncounted,
  durable,
  fires,
  openWaits,
  marks,
  traceparent,
  members,
];
