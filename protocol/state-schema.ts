/** Schemas of states; the states themselves are in state.ts. */
import Type from "typebox";
import { FreeMap, nullable, Timestamp } from "./scalar.ts";
import { STATE_TYPES, type State, type StateType } from "./state.ts";

/** One of the nine state types. */
export const StateTypeSchema = Type.Unsafe<StateType>({ type: "string", enum: [...STATE_TYPES], title: "StateType" });

/** The state of a run or task run. */
export const StateSchema = Type.Unsafe<State>(
  Type.Object(
    {
      type: StateTypeSchema,
      name: Type.String(),
      timestamp: Timestamp,
      message: Type.Optional(nullable(Type.String())),
      details: Type.Optional(FreeMap),
    },
    { title: "State" },
  ),
);
