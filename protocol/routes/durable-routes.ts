/** Routes of durable runs: their steps and waits, and what ends a wait. */
import { ErrorBody, TransitionRejected } from "../errors.ts";
import { CALLBACK_BYTES_MAX } from "../limits.ts";
import {
  ArmedWaits,
  ArmWaitsBody,
  CallbackBody,
  CallbackTaken,
  Step,
  StepsPage,
  StepsQuery,
  WaitsPage,
} from "../records/durable.ts";
import { Run } from "../records/run.ts";
import { type Route, row } from "./route.ts";

export const DURABLE: readonly Route[] = [
  row(
    "GET /api/runs/{id}/steps",
    "listRunSteps",
    "Stored steps of a durable run, oldest first",
    "read",
    { 200: StepsPage, 400: ErrorBody, 404: ErrorBody },
    { query: StepsQuery },
  ),
  row(
    "POST /api/runs/{id}/waits",
    "armWaits",
    "For engines: arm waits of a durable run, and create the child runs that it calls",
    "ArmWaits",
    { 200: ArmedWaits, 404: ErrorBody, 409: TransitionRejected, 422: ErrorBody },
    { body: ArmWaitsBody, traceparent: true },
  ),
  row("POST /api/runs/{id}/wake", "wakeRun", "End the sleep or retry delay of a run now", "WakeRun", {
    200: Run,
    404: ErrorBody,
    409: TransitionRejected,
  }),
  row("GET /api/runs/{id}/steps/{identity}", "getRunStep", "One stored step", "read", { 200: Step, 404: ErrorBody }),
  row(
    "GET /api/runs/{id}/waits",
    "listRunWaits",
    "Waits of a durable run, oldest first",
    "read",
    { 200: WaitsPage, 400: ErrorBody, 404: ErrorBody },
    { query: StepsQuery },
  ),
  row(
    "POST /api/callbacks/{token}",
    "answerCallback",
    "Answer the callback of a durable run, once and without a token of the server",
    "AnswerCallback",
    { 200: CallbackTaken, 404: ErrorBody, 422: ErrorBody, 429: ErrorBody },
    { body: CallbackBody, body_bytes_max: CALLBACK_BYTES_MAX, auth: false },
  ),
];
