/** Index of ended runs by end time, for lists sorted by newest end and for bounds on the end. */
export const name = "runs by end";

export const sql = `
CREATE INDEX runs_end ON runs (end_time) WHERE end_time IS NOT NULL;
`;
