/**
 * Open waits by lineage, with what a start needs of them: a start reads the index alone, and a run that is needed again finds
 * its open waits beside any number of settled ones.
 */
export const name = "open-waits";

export const sql = `
DROP INDEX waits_open;
CREATE INDEX waits_open ON waits (lineage_id, due, kind) WHERE settled_at IS NULL;
`;
