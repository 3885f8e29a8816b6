/** Schemas of states; the states themselves are in state.ts. */
import Type from "typebox";
import { about, FreeMap, nullable, Timestamp } from "../values/scalar.ts";
import { STATE_TYPES, type State, type StateType } from "./state.ts";

/** One of the nine state types. */
export const StateTypeSchema = Type.Unsafe<StateType>({ type: "string", enum: [...STATE_TYPES], title: "StateType" });

/** The state of a run or task run. */
export const StateSchema = Type.Unsafe<State>(
  Type.Object(
    {
      type: StateTypeSchema,
      name: about("The type, a sub-state, or a text of the flow's own", Type.String()),
      timestamp: Timestamp,
      message: Type.Optional(nullable(Type.String())),
      details: Type.Optional(about("result, traceback and other facts about it", FreeMap)),
    },
    { title: "State" },
  ),
);
