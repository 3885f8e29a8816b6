/** Ended runs by their end: lists that have the newest end first, and bounds on the end. */
export const name = "runs by end";

export const sql = `
CREATE INDEX runs_end ON runs (end_time) WHERE end_time IS NOT NULL;
`;
