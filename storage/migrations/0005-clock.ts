/**
 * The clocks as last measured: how far the wall clock is ahead of the time since boot, and how far it was ahead when last
 * trusted. `step` and `stepped_at` are null unless a step waits to be accepted; `waited` is the time since the step, up to
 * `boot_time`.
 */
export const name = "clock";

export const sql = `
CREATE TABLE clock (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  boot TEXT NOT NULL,
  boot_time INTEGER NOT NULL,
  wall_time INTEGER NOT NULL,
  ahead INTEGER NOT NULL,
  trusted_ahead INTEGER NOT NULL,
  step INTEGER,
  stepped_at INTEGER,
  waited INTEGER NOT NULL
);
`;
