/**
 * Fields that bodies will take in a later version. Ignored like other unknown fields they would do harm: the run would start at
 * once, or twice. So a value for one is refused (422); null stands for none. This is the whole list.
 */
import Type from "typebox";

/** Marks such a field for the words of its refusal and for readers of the interface's description. */
export const TO_COME = "x-not-supported-yet";

const toCome = Type.Optional(
  Type.Unsafe<null>({ type: "null", description: "Not supported yet: a value is refused (422)", [TO_COME]: true }),
);

/** Of every body that creates runs. */
export const RUN_FIELDS_TO_COME = {
  priority: toCome,
  scheduled_time: toCome,
  delay: toCome,
  start_deadline: toCome,
  unique_key: toCome,
};

/** Of every body that makes or changes a schedule, and of declarations in code. */
export const SCHEDULE_FIELDS_TO_COME = { parameters: toCome };
