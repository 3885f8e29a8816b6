/** `client.schedules`: when the server creates runs of a flow. */
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

  /** The schedules of a flow, oldest first; an empty list for an unknown flow. */
  list(flowId: number): Promise<ScheduleRow[]> {
    return this.#http.get<ScheduleRow[]>(`/api/flows/${flowId}/schedules`);
  }

  /** Adds a schedule to a flow. @throws MillraceError 404; 422 for an invalid expression, rule or zone. */
  create(flowId: number, schedule: ScheduleBody): Promise<ScheduleRow> {
    return this.#http.json<ScheduleRow>("POST", `/api/flows/${flowId}/schedules`, { body: schedule });
  }

  /**
   * Creates the schedule of a flow with this key, or replaces it by `schedule`; a replaced schedule keeps its id, skips and
   * pause. Putting the same schedule again changes nothing. @throws MillraceError 404; 422 for an invalid expression, rule,
   * zone or parameters.
   */
  put(flowId: number, key: string, schedule: ScheduleBody): Promise<ScheduleRow> {
    const path = `/api/flows/${flowId}/schedules/${encodeURIComponent(key)}`;
    return this.#http.json<ScheduleRow>("PUT", path, { body: schedule, repeatable: true });
  }

  /** The next fires of a schedule that is not stored. @throws MillraceError 422. */
  preview(schedule: PreviewBody): Promise<PreviewResponse> {
    return this.#http.json<PreviewResponse>("POST", "/api/schedules/preview", { body: schedule, repeatable: true });
  }

  /** Changes the given fields. @throws MillraceError 404, 422. */
  patch(id: number, patch: Loose<SchedulePatchBody>): Promise<ScheduleRow> {
    return this.#http.json<ScheduleRow>("PATCH", `/api/schedules/${id}`, { body: patch });
  }

  /** Removes a schedule and its unstarted runs. @throws MillraceError 404. */
  async delete(id: number): Promise<void> {
    await this.#http.json<null>("DELETE", `/api/schedules/${id}`);
  }

  /** Pauses a schedule: its fires create no runs. @throws MillraceError 404. */
  pause(id: number): Promise<ScheduleRow> {
    return this.#http.json<ScheduleRow>("POST", `/api/schedules/${id}/pause`, { repeatable: true });
  }

  /** Resumes a paused schedule. @throws MillraceError 404. */
  resume(id: number): Promise<ScheduleRow> {
    return this.#http.json<ScheduleRow>("POST", `/api/schedules/${id}/resume`, { repeatable: true });
  }

  /** Skips the given fires, or the next n: all of them or none. @throws MillraceError 404, 422. */
  skip(id: number, skip: Loose<SkipBody>): Promise<SkipResponse> {
    return this.#http.json<SkipResponse>("POST", `/api/schedules/${id}/skips`, { body: skip });
  }

  /** Reverts a skip; `fire` in microseconds since the Unix epoch. @throws MillraceError 404, 422. */
  undoSkip(id: number, fire: number): Promise<ScheduleRow> {
    return this.#http.json<ScheduleRow>("DELETE", `/api/schedules/${id}/skips/${fire}`);
  }

  /**
   * Future fires of all schedules that are not paused: before a moment (microseconds), at most `limit` per schedule (default
   * 100).
   */
  fires(
    options: { before?: number | undefined; limit?: number | undefined; schedule_id?: number | undefined } = {},
  ): Promise<ScheduleFires[]> {
    return this.#http.get<ScheduleFires[]>("/api/schedules/fires", options);
  }

  /**
   * Runs of all schedules whose fires lie within a period (microseconds), counted by schedule, hour and state; listed one by
   * one in hours in which a schedule has at most `each` runs (default 0).
   */
  runs(time: { after: number; before: number; each?: number | undefined }): Promise<ScheduleRuns[]> {
    return this.#http.get<ScheduleRuns[]>("/api/schedules/runs", time);
  }

  /** Future runs of a flow, and per schedule up to `projected` (at most 100) further fires. */
  upcoming(flowId: number, projected = 0): Promise<UpcomingItem[]> {
    return this.#http.get<UpcomingItem[]>(`/api/flows/${flowId}/upcoming`, { projected });
  }
}
