/**
 * The task runs of a run by state type, as JSON; null without any. The core maintains the column, so that a read of a run
 * counts no rows.
 *
 * SQLite only: json_group_object (json_object_agg).
 */
export const name = "task-counts";

export const sql = `
ALTER TABLE runs ADD COLUMN task_counts TEXT;
UPDATE runs SET task_counts = (
  SELECT json_group_object(CASE state_type WHEN 0 THEN 'Scheduled' WHEN 1 THEN 'Pending' WHEN 2 THEN 'Running'
    WHEN 3 THEN 'Completed' WHEN 4 THEN 'Failed' WHEN 5 THEN 'Cancelled' WHEN 6 THEN 'Crashed' WHEN 7 THEN 'Paused'
    ELSE 'Cancelling' END, count)
  FROM (SELECT state_type, count(*) AS count FROM task_runs WHERE run_id = runs.id GROUP BY state_type)
) WHERE id IN (SELECT run_id FROM task_runs);
`;
