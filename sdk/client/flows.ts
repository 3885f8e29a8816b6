/** `client.flows`: flows and runs of a flow by its id. */

import type { Http } from "./http.ts";
import type { CreateRunForFlowBody, FlowSummary, Loose, Run } from "./records.ts";
import type { CreateOptions } from "./runs.ts";

export type FlowRun = Loose<CreateRunForFlowBody>;

export class Flows {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** All flows, by project and name. */
  list(filter: { project?: string | undefined } = {}): Promise<FlowSummary[]> {
    return this.#http.get<FlowSummary[]>("/api/flows", filter);
  }

  /** @throws MillraceError 404. */
  get(id: number): Promise<FlowSummary> {
    return this.#http.get<FlowSummary>(`/api/flows/${id}`);
  }

  /** Removes a flow that no server serves, with its runs and schedules. @throws MillraceError 404; 409 while it is live. */
  async delete(id: number): Promise<void> {
    await this.#http.json<null>("DELETE", `/api/flows/${id}`);
  }

  /** Creates a run. @throws MillraceError 404; 422 parameters that do not fit the flow's schema. */
  run(id: number, run: FlowRun = {}, options: CreateOptions = {}): Promise<Run> {
    const { idempotencyKey, signal } = options;
    return this.#http.json<Run>("POST", `/api/flows/${id}/runs`, { body: run, idempotencyKey, signal });
  }
}
