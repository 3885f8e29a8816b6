/**
 * Errors in the schedules that a flow declares, except errors that keep its module from loading; and the number of crash
 * reruns that led to a run, which `attempt` held until it counted retries too.
 */
export const name = "schedule-errors-and-reruns";

export const sql = `
ALTER TABLE flows ADD COLUMN schedule_error TEXT;
ALTER TABLE runs ADD COLUMN reruns INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET reruns = attempt WHERE attempt > 0;
`;
