/**
 * A repeated report changes nothing: log lines, custom events and task runs exist once and in the order sent. When a report
 * is answered, its contents are stored, unless a report with higher numbers was sent before; when it is refused, nothing of it
 * is.
 */
import type { ExchangeResponse } from "#protocol/records/exchange";
import type { Request } from "../model-gateway.ts";
import { Violation } from "../trace.ts";
import type { Answer, Checker, Commit, Operation } from "./checker.ts";
import { readExchange } from "./exchange-answers.ts";
import type { History } from "./history.ts";

const RULE = "reports apply once";

interface SentReport {
  engine_id: string;
  run_id: number;
  lease?: number;
  events: SentEvent[];
}

interface SentEvent {
  kind: string;
  seq: number;
  logs?: { message: string }[] | string;
  payload?: { mark: string };
}

export class OnceChecker implements Checker {
  readonly #marks = new Set<string>();
  readonly #lastOfSender = new Map<string, number>();
  readonly #taskIds = new Map<string, number>();
  /** Contents that must be stored when a request is answered, by request id. */
  readonly #owed = new Map<number, string[]>();
  readonly #newestSeq = new Map<string, number>();
  /** Contents of reports that were refused for ever. */
  readonly #refused = new Set<string>();

  submitted(id: number, { kind, body }: Request): void {
    // A request refused by the gateway leaves its number to the next request.
    this.#owed.delete(id);
    if (kind !== "Report") return;
    const { engine_id, run_id, lease, events } = JSON.parse(String(body)) as SentReport;
    // Without a lease, an engine's numbers may restart.
    if (lease === undefined) return;
    const sender = `${engine_id} ${run_id} ${lease}`;
    const newest = this.#newestSeq.get(sender) ?? 0;
    if ((events[0]?.seq ?? 0) > newest) this.#owed.set(id, events.flatMap(marksOf));
    this.#newestSeq.set(sender, Math.max(newest, ...events.map(({ seq }) => seq)));
  }

  answered({ id, request, status, body }: Answer): void {
    if (status !== 200) return;
    if (request.kind === "Exchange") return this.#exchanged(request, body ?? "");
    for (const mark of this.#owed.get(id) ?? [])
      if (!this.#marks.has(mark))
        throw new Violation("an answered report is stored", `"${mark}" of request ${id} is not there: ${body}`);
  }

  /** An engine waits for the answer about a run before it reports more, so every accepted report is stored as a whole. */
  #exchanged(request: Request, body: string): void {
    const { reports } = readExchange(request);
    for (const { run_id, lease, status = 200 } of (JSON.parse(body) as ExchangeResponse).reports) {
      const report = reports.find((sent) => sent.run_id === run_id && sent.lease === lease);
      for (const mark of (report?.events ?? []).flatMap((event) => marksOf(event as SentEvent))) {
        const isStored = this.#marks.has(mark);
        if (status === 200 && !isStored)
          throw new Violation("an answered report is stored", `"${mark}" of an exchange is not there: ${body}`);
        if (status === 422 && isStored) throw new Violation("a refused report changes nothing", `"${mark}" is there`);
        if (status === 422) this.#refused.add(mark);
      }
    }
  }

  commit({ batch }: Commit): void {
    for (let at = 0; at < batch.logs.length; at += 5) {
      for (const line of JSON.parse(String(batch.logs[at + 4])) as [number | null, number, string, number, string][])
        this.#line(line[4]);
    }
  }

  operation(operation: Operation, history: History): void {
    if (operation.name === "insert_event" && operation.text("name") === "step") this.#once("event", operation.text("payload"));
    if (operation.name !== "put_task_run") return;
    const id = operation.number("id");
    const external = operation.text("external_id");
    const known = this.#taskIds.get(external);
    if (known !== undefined && known !== id && history.tasks.has(known))
      throw new Violation(RULE, `task run ${external} is there as ${known} and ${id}`);
    this.#taskIds.set(external, id);
  }

  /** Lines of one engine about one assignment are numbered; lines of others may come in between. */
  #line(mark: string): void {
    this.#once("log line", mark);
    const cut = mark.lastIndexOf("|");
    const sender = mark.slice(0, cut);
    const number = Number(mark.slice(cut + 1));
    const last = this.#lastOfSender.get(sender) ?? 0;
    if (number <= last) throw new Violation("log lines in order", `${mark} came after line ${last}`);
    this.#lastOfSender.set(sender, number);
  }

  #once(what: string, mark: string): void {
    if (this.#marks.has(mark)) throw new Violation(RULE, `${what} "${mark}" was stored twice`);
    if (this.#refused.has(mark)) throw new Violation("a refused report changes nothing", `${what} "${mark}" was stored`);
    this.#marks.add(mark);
  }
}

/** Log lines as they are, custom events as their stored payload. */
function marksOf({ kind, logs, payload }: SentEvent): string[] {
  if (kind === "logs") return typeof logs === "string" ? [] : (logs ?? []).map(({ message }) => message);
  return kind === "custom" ? [JSON.stringify(payload)] : [];
}
