/**
 * Fields that bodies will accept in a later version. Ignoring them like other unknown fields would do harm: the run would start
 * at once, or twice. A value is therefore refused (422); null counts as absent. This is the whole list.
 */
import Type from "typebox";

/** Marks such a field for the message of its refusal and for readers of the interface's description. */
export const TO_COME = "x-not-supported-yet";

const toCome = Type.Optional(
  Type.Unsafe<null>({ type: "null", description: "Not supported yet: a value is refused (422)", [TO_COME]: true }),
);

/** In every body that creates runs. */
export const RUN_FIELDS_TO_COME = {
  priority: toCome,
  scheduled_time: toCome,
  delay: toCome,
  start_deadline: toCome,
  unique_key: toCome,
};
