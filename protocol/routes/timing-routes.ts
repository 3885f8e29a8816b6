/** Endpoints about what runs wait for and where their time went. An addition of Millrace. */
import Type from "typebox";
import { ErrorBody } from "../errors.ts";
import { PastWait, RunExplanation, WaitedQuery } from "../records/queue.ts";
import { FlowTiming, RunTiming } from "../records/timing.ts";
import { type Route, row } from "./route.ts";

const NotFound = { 404: ErrorBody };

export const TIMING: readonly Route[] = [
  row("GET /api/runs/{id}/explain", "explainRun", "Why a run waits", "ExplainRun", { 200: RunExplanation, ...NotFound }),
  row(
    "GET /api/runs/{id}/waited",
    "listPastWaits",
    "What a run waited for, the earliest first: why it started late or was skipped, and which runs were in its way",
    "read",
    { 200: Type.Array(PastWait), 400: ErrorBody, ...NotFound },
    { query: WaitedQuery },
  ),
  row("GET /api/runs/{id}/timing", "getRunTiming", "The stages of a run, from its creation to its published end", "read", {
    200: RunTiming,
    ...NotFound,
  }),
  row("GET /api/flows/{id}/timing", "getFlowTiming", "How long the newest runs of a flow were in each stage", "read", {
    200: FlowTiming,
    ...NotFound,
  }),
];
