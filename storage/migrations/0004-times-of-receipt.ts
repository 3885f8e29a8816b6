/**
 * When the server received a state or event whose engine reports a different time; retention and time limits use the time of
 * receipt. `state_received` is null where `state_timestamp` is right; `received_max` is null for events from before this
 * migration.
 */
export const name = "times-of-receipt";

export const sql = `
ALTER TABLE runs ADD COLUMN state_received INTEGER;
CREATE INDEX runs_received ON runs (state_received) WHERE end_time IS NOT NULL AND state_received IS NOT NULL;
ALTER TABLE event_times ADD COLUMN received_max INTEGER;
`;
