/** Whether a run shares its engine with no other run, because it repeats one that may have ended its engine. */
export const name = "alone";

export const sql = "ALTER TABLE runs ADD COLUMN alone INTEGER NOT NULL DEFAULT 0;";
