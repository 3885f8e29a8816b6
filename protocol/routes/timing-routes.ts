/** Endpoints about where the time of runs went. An addition of Millrace. */
import { ErrorBody } from "../errors.ts";
import { FlowTiming, RunTiming } from "../records/timing.ts";
import { type Route, row } from "./route.ts";

const NotFound = { 404: ErrorBody };

export const TIMING: readonly Route[] = [
  row("GET /api/runs/{id}/timing", "getRunTiming", "The stages of a run, from its creation to its published end", "read", {
    200: RunTiming,
    ...NotFound,
  }),
  row("GET /api/flows/{id}/timing", "getFlowTiming", "How long the newest runs of a flow were in each stage", "read", {
    200: FlowTiming,
    ...NotFound,
  }),
];
