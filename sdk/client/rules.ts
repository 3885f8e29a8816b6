/** `client.rules`: actions of the server when an event happens, or does not happen in time. */
import type { ExpectationsQuery, RuleTestQuery } from "#protocol/records/rule";
import type { Http } from "./http.ts";
import type { CreateOptions } from "./idempotency.ts";
import type { Expectation, FilterOf, Loose, RuleBody, RuleFiring, RulePatch, RuleRow, RuleTest } from "./records.ts";

/** The body that creates a rule. */
export type CreateRule = Loose<RuleBody> & { name: string };

export class Rules {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** All rules, those declared in code included. */
  list(): Promise<RuleRow[]> {
    return this.#http.get<RuleRow[]>("/api/rules");
  }

  /** Creates a rule. @throws MillraceError 422 for an invalid rule: the text names the field and the expected value. */
  create(rule: CreateRule, options: Pick<CreateOptions, "signal"> = {}): Promise<RuleRow> {
    return this.#http.json<RuleRow>("POST", "/api/rules", { body: rule, signal: options.signal });
  }

  /** A rule by its id. @throws MillraceError 404. */
  get(id: number): Promise<RuleRow> {
    return this.#http.get<RuleRow>(`/api/rules/${id}`);
  }

  /**
   * Changes the given fields. For a rule declared in code only `enabled` can be changed. @throws MillraceError 404, 409, 422.
   */
  patch(id: number, patch: Loose<RulePatch>): Promise<RuleRow> {
    return this.#http.json<RuleRow>("PATCH", `/api/rules/${id}`, { body: patch, repeatable: true });
  }

  /** Deletes a rule. @throws MillraceError 404; 409 for a rule that code declares. */
  async delete(id: number): Promise<void> {
    await this.#http.json<null>("DELETE", `/api/rules/${id}`);
  }

  /** The rule's firings with their outcomes, newest first. */
  firings(id: number): Promise<RuleFiring[]> {
    return this.#http.get<RuleFiring[]>(`/api/rules/${id}/firings`);
  }

  /** What the rule waits for; with `open: false` also its ended expectations. @throws MillraceError 404. */
  expectations(id: number, filter: FilterOf<ExpectationsQuery> & { limit?: number } = {}): Promise<Expectation[]> {
    return this.#http.get<Expectation[]>(`/api/rules/${id}/expectations`, filter);
  }

  /**
   * The rule's actions, rendered against the latest matching event or the given one; none is executed. @throws MillraceError
   * 404.
   */
  test(id: number, { event_id }: FilterOf<RuleTestQuery> = {}): Promise<RuleTest> {
    return this.#http.json<RuleTest>("POST", `/api/rules/${id}/test`, { query: { event_id }, repeatable: true });
  }
}
