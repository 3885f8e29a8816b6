/**
 * When the server took something, where the times of engines say otherwise: retention and time limits go by that. `state_received` is
 * null where `state_timestamp` says it; `received_max` is null for events from before.
 */
export const name = "times-of-receipt";

export const sql = `
ALTER TABLE runs ADD COLUMN state_received INTEGER;
CREATE INDEX runs_received ON runs (state_received) WHERE end_time IS NOT NULL AND state_received IS NOT NULL;
ALTER TABLE event_times ADD COLUMN received_max INTEGER;
`;
