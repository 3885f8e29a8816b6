/** `client.schedules`: when runs of a flow are created by themselves. */
import type { Http } from "./http.ts";
import type {
  Loose,
  PreviewBody,
  PreviewResponse,
  ScheduleBody,
  ScheduleFires,
  SchedulePatchBody,
  ScheduleRow,
  ScheduleRuns,
  SkipBody,
  SkipResponse,
  UpcomingItem,
} from "./records.ts";

export class Schedules {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The schedules of a flow, oldest first; none for an unknown flow. */
  list(flowId: number): Promise<ScheduleRow[]> {
    return this.#http.get<ScheduleRow[]>(`/api/flows/${flowId}/schedules`);
  }

  /** @throws MillraceError 404; 422 for an expression, rule or zone that cannot be read. */
  create(flowId: number, schedule: ScheduleBody): Promise<ScheduleRow> {
    return this.#http.json<ScheduleRow>("POST", `/api/flows/${flowId}/schedules`, { body: schedule });
  }

  /** The next fires of a schedule that is not stored. @throws MillraceError 422. */
  preview(schedule: PreviewBody): Promise<PreviewResponse> {
    return this.#http.json<PreviewResponse>("POST", "/api/schedules/preview", { body: schedule, repeatable: true });
  }

  /** Changes what is given. @throws MillraceError 404, 422. */
  patch(id: number, patch: Loose<SchedulePatchBody>): Promise<ScheduleRow> {
    return this.#http.json<ScheduleRow>("PATCH", `/api/schedules/${id}`, { body: patch });
  }

  /** Removes a schedule and its unstarted runs. @throws MillraceError 404. */
  async delete(id: number): Promise<void> {
    await this.#http.json<null>("DELETE", `/api/schedules/${id}`);
  }

  /** @throws MillraceError 404. */
  pause(id: number): Promise<ScheduleRow> {
    return this.#http.json<ScheduleRow>("POST", `/api/schedules/${id}/pause`, { repeatable: true });
  }

  /** @throws MillraceError 404. */
  resume(id: number): Promise<ScheduleRow> {
    return this.#http.json<ScheduleRow>("POST", `/api/schedules/${id}/resume`, { repeatable: true });
  }

  /** Skips the fires named, or the next n. All of them or none. @throws MillraceError 404, 422. */
  skip(id: number, skip: Loose<SkipBody>): Promise<SkipResponse> {
    return this.#http.json<SkipResponse>("POST", `/api/schedules/${id}/skips`, { body: skip });
  }

  /** Takes a skip back; `fire` in microseconds since the Unix epoch. @throws MillraceError 404, 422. */
  undoSkip(id: number, fire: number): Promise<ScheduleRow> {
    return this.#http.json<ScheduleRow>("DELETE", `/api/schedules/${id}/skips/${fire}`);
  }

  /** Fires to come of all schedules that are not paused: before a moment (microseconds), at most `limit` of each (default 100). */
  fires(
    options: { before?: number | undefined; limit?: number | undefined; schedule_id?: number | undefined } = {},
  ): Promise<ScheduleFires[]> {
    return this.#http.get<ScheduleFires[]>("/api/schedules/fires", options);
  }

  /**
   * Runs of all schedules whose fires lie within a time (microseconds), counted by schedule, hour and state; one by one in hours in
   * which a schedule has at most `each` (default 0).
   */
  runs(time: { after: number; before: number; each?: number | undefined }): Promise<ScheduleRuns[]> {
    return this.#http.get<ScheduleRuns[]>("/api/schedules/runs", time);
  }

  /** Runs to come of a flow, and per schedule up to `projected` (at most 100) fires past them. */
  upcoming(flowId: number, projected = 0): Promise<UpcomingItem[]> {
    return this.#http.get<UpcomingItem[]>(`/api/flows/${flowId}/upcoming`, { projected });
  }
}
