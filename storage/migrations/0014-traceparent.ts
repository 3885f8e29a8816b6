/** The header `traceparent` with which a run was created, so that its engine continues the trace of its creator. */
export const name = "traceparent";

export const sql = "ALTER TABLE runs ADD COLUMN traceparent TEXT;";
