/** `client.backfills`: one run per value of a date or datetime parameter. */
import type { Http } from "./http.ts";
import { type CreateOptions, keyOf } from "./idempotency.ts";
import type { BackfillBody, BackfillPreview, BackfillStatus, BackfillValue, Loose } from "./records.ts";

/** The body that creates a backfill. */
export type CreateBackfill = Loose<Omit<BackfillBody, "dry_run">> & Pick<BackfillBody, "parameter" | "start" | "end">;

export class Backfills {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Creates all runs at once. @throws MillraceError 404; 422 for a parameter, bound or interval that does not fit. */
  create(flowId: number, backfill: CreateBackfill, options: CreateOptions = {}): Promise<BackfillStatus> {
    const call = { body: backfill, idempotencyKey: keyOf(options), signal: options.signal };
    return this.#http.json<BackfillStatus>("POST", `/api/flows/${flowId}/backfill`, call);
  }

  /** What would be created. @throws MillraceError 404, 422. */
  preview(flowId: number, backfill: CreateBackfill): Promise<BackfillPreview> {
    const body = { ...backfill, dry_run: true };
    return this.#http.json<BackfillPreview>("POST", `/api/flows/${flowId}/backfill`, { body, repeatable: true });
  }

  /** The backfills of a flow, oldest first; an empty list for an unknown flow. */
  list(flowId: number): Promise<BackfillStatus[]> {
    return this.#http.get<BackfillStatus[]>(`/api/flows/${flowId}/backfills`);
  }

  /** Backfills of all flows, newest first; at most `limit` (default 50). */
  newest(limit?: number): Promise<BackfillStatus[]> {
    return this.#http.get<BackfillStatus[]>("/api/backfills", { limit });
  }

  /** The backfill's values with run id, state type and state name, in order of creation. @throws MillraceError 404. */
  values(id: number): Promise<BackfillValue[]> {
    return this.#http.get<BackfillValue[]>(`/api/backfills/${id}/values`);
  }

  /** A backfill with the counts of its runs. @throws MillraceError 404. */
  get(id: number): Promise<BackfillStatus> {
    return this.#http.get<BackfillStatus>(`/api/backfills/${id}`);
  }

  /** Cancels the backfill's unfinished runs. @throws MillraceError 404. */
  cancel(id: number): Promise<BackfillStatus> {
    return this.#http.json<BackfillStatus>("POST", `/api/backfills/${id}/cancel`, { repeatable: true });
  }
}
