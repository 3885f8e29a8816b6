/** Whether a crash of a run, or of those that it repeats, was not counted: then the next crash is. */
export const name = "uncounted";

export const sql = "ALTER TABLE runs ADD COLUMN uncounted INTEGER NOT NULL DEFAULT 0;";
