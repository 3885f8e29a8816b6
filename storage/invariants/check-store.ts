/**
 * All checks of a store: its file, and the promises about its rows.
 *
 * SQLite only: PRAGMA (the database's own check of its pages).
 */
import type { Database } from "../sqlite/driver.ts";
import { Statements } from "../sqlite/statements.ts";
import { BACKFILLS_ARE_WHOLE, FAN_IN_ONCE } from "./backfills.ts";
import { PARKED_RUNS_WAKE } from "./durable.ts";
import { EVENTS_WITHOUT_GAPS, STREAM_COMPLETE } from "./events.ts";
import { type Finding, findRows, type Invariant, type InvariantFacts, told } from "./invariant.ts";
import { WITHIN_CAPACITY } from "./resources.ts";
import { NOTHING_IS_LOST } from "./rows.ts";
import { ENDS_ONCE, ONCE_PER_RUN } from "./rules.ts";
import { STAGES_ADD_UP } from "./run-marks.ts";
import { ENDS_STAY, ONE_HOLDER } from "./run-states.ts";
import { ONE_RUN_PER_FIRE } from "./schedules.ts";
import { SECRETS_STAY_SECRET } from "./secrets.ts";

export const INVARIANTS: readonly Invariant[] = [
  NOTHING_IS_LOST,
  ENDS_STAY,
  ONE_HOLDER,
  WITHIN_CAPACITY,
  ONE_RUN_PER_FIRE,
  EVENTS_WITHOUT_GAPS,
  STREAM_COMPLETE,
  BACKFILLS_ARE_WHOLE,
  FAN_IN_ONCE,
  ONCE_PER_RUN,
  ENDS_ONCE,
  SECRETS_STAY_SECRET,
  PARKED_RUNS_WAKE,
  STAGES_ADD_UP,
];

export interface StoreCheck {
  id: string;
  title: string;
  /** False where no part of the promise can be checked in a store. */
  checked: boolean;
  /** The part of the promise that no check of a store covers; null when the check is complete. */
  unchecked: string | null;
  findings: Finding[];
}

/** Checks pages and indexes of the file with SQLite's own check. */
export function checkFile(database: Database): Finding[] {
  const said = database.prepareRaw<[string]>("PRAGMA integrity_check").all();
  return told(said.map(([text]) => text).filter((text) => text !== "ok"));
}

/** All checks on one snapshot of the store, also while a server writes. */
export function checkStore(database: Database, facts: InvariantFacts): StoreCheck[] {
  const statements = new Statements(database);
  database.exec("BEGIN");
  try {
    return [...INVARIANTS.map((invariant) => checkOne(statements, facts, invariant)), passedOver(statements)];
  } finally {
    database.exec("COMMIT");
  }
}

function checkOne(statements: Statements, facts: InvariantFacts, { id, title, unchecked, check }: Invariant): StoreCheck {
  // With the totals of a running server, the check is complete.
  const open = id === "I4" && facts.totals !== null ? null : unchecked;
  return { id, title, checked: check !== null, unchecked: open, findings: check?.(statements, facts) ?? [] };
}

function passedOver(statements: Statements): StoreCheck {
  const findings = findRows<[string, string, string]>(
    statements,
    "SELECT actor, subject, error FROM quarantine ORDER BY id DESC",
    ([actor, subject, error]) => `${actor} failed twice at ${subject} and passed over it: ${error}`,
    "unusual",
  );
  return { id: "rules", title: "no event was too much for the rules", checked: true, unchecked: null, findings };
}
