/** The owner of the store and its newest commit, in place of the last commits of each source. */
export const name = "members";

export const sql = `
-- The process that writes: its epoch rises each time the store is opened for writing. number, result and commands are those of
-- the newest commit: its number, what it was answered, and the commands it decided.
CREATE TABLE members (
  member INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  number INTEGER NOT NULL,
  result TEXT NOT NULL,
  commands TEXT NOT NULL
);
INSERT INTO members (member, epoch, number, result, commands) VALUES (1, 0, 0, '[0,0]', '[]');
DROP TABLE commits;
`;
