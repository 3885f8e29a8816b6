/** The graph of a run: its task runs and their dependencies. */
import Type, { type Static } from "typebox";
import { Int64, nullable, sent, Timestamp } from "../values/scalar.ts";
import { StateSchema } from "./state-schema.ts";

/** A task run as a node of the graph. */
export const GraphNode = sent(
  Type.Object(
    {
      id: Int64,
      external_id: Type.String(),
      name: Type.String(),
      dynamic_key: Type.String(),
      state: StateSchema,
      created_at: Timestamp,
      start_time: Type.Optional(nullable(Timestamp)),
      end_time: Type.Optional(nullable(Timestamp)),
    },
    { title: "GraphNode" },
  ),
);
export type GraphNode = Static<typeof GraphNode>;

/** `to` waited on `from`; both are ids of nodes. */
export const GraphEdge = Type.Object({ from: Int64, to: Int64 }, { title: "GraphEdge" });
export type GraphEdge = Static<typeof GraphEdge>;

/** The task runs of a run and the edges between them. */
export const RunGraph = Type.Object(
  { run_id: Int64, nodes: Type.Array(GraphNode), edges: Type.Array(GraphEdge) },
  { title: "RunGraph" },
);
export type RunGraph = Static<typeof RunGraph>;
