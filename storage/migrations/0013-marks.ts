/** Marks of the course of a run (storage/schema/run-marks.ts); null for a run from before this migration. */
export const name = "marks";

export const sql = "ALTER TABLE runs ADD COLUMN marks TEXT;";
