/**
 * Whether the newest assignment of a run still holds it. Before, a negative `assignment_id` stood for an assignment that has
 * ended; after this migration the id is what it was at hand-out.
 */
export const name = "assigned";

export const sql = `
ALTER TABLE runs ADD COLUMN assigned INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET assigned = assignment_id > 0, assignment_id = abs(assignment_id) WHERE assignment_id IS NOT NULL;
`;
