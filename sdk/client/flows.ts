/** `client.flows`: flows and runs of a flow by its id. */

import type { Http } from "./http.ts";
import { type CreateRunOptions, keyOf } from "./idempotency.ts";
import type { CreateRunForFlowBody, FlowSummary, FlowTiming, Loose, PausedSchedules, ResumedSchedules, Run } from "./records.ts";

/** The body that creates a run of a flow. */
export type FlowRun = Loose<CreateRunForFlowBody>;

export class Flows {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** All flows, by project and name, each with its latest `results` ended runs (at most 50). */
  list(filter: { project?: string | undefined; results?: number | undefined } = {}): Promise<FlowSummary[]> {
    return this.#http.get<FlowSummary[]>("/api/flows", filter);
  }

  /** A flow by its id. @throws MillraceError 404. */
  get(id: number): Promise<FlowSummary> {
    return this.#http.get<FlowSummary>(`/api/flows/${id}`);
  }

  /** How long the newest runs of the flow were in each stage. @throws MillraceError 404. */
  timing(id: number): Promise<FlowTiming> {
    return this.#http.get<FlowTiming>(`/api/flows/${id}/timing`);
  }

  /** Removes a flow that no server serves, with its runs and schedules. @throws MillraceError 404; 409 while it is live. */
  async delete(id: number): Promise<void> {
    await this.#http.json<null>("DELETE", `/api/flows/${id}`);
  }

  /** Creates a run. @throws MillraceError 404; 422 parameters that do not fit the flow's schema. */
  run(id: number, run: FlowRun = {}, options: CreateRunOptions = {}): Promise<Run> {
    const query = { wait_ms: options.waitMs };
    const call = { query, body: run, idempotencyKey: keyOf(options), signal: options.signal };
    return this.#http.json<Run>("POST", `/api/flows/${id}/runs`, call);
  }

  /** Pauses all schedules of the flow and returns their number. */
  pause(id: number): Promise<PausedSchedules> {
    return this.#http.json<PausedSchedules>("POST", `/api/flows/${id}/pause`, { repeatable: true });
  }

  /** Resumes all schedules of the flow and returns their number. */
  resume(id: number): Promise<ResumedSchedules> {
    return this.#http.json<ResumedSchedules>("POST", `/api/flows/${id}/resume`, { repeatable: true });
  }
}
