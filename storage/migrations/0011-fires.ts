/**
 * The fire of runs that repeat the run of a fire, and the parameters of schedules.
 *
 * `runs.fire_time` is set for crash reruns and retries alone: the run of the fire itself has it as `scheduled_time`, which is
 * unique per schedule. `schedules.parameters` is JSON text, whose texts may be templates; null without any.
 */
export const name = "fires";

export const sql = `
ALTER TABLE runs ADD COLUMN fire_time INTEGER;
ALTER TABLE schedules ADD COLUMN parameters TEXT;
`;
