/** A report that comes twice changes nothing: log lines, custom events and task runs are there once and in the order sent. */
import { Violation } from "../trace.ts";
import type { Checker, Commit, Operation } from "./checker.ts";
import type { History } from "./history.ts";

const RULE = "reports apply once";

export class OnceChecker implements Checker {
  readonly #marks = new Set<string>();
  readonly #lastOfSender = new Map<string, number>();
  readonly #taskIds = new Map<string, number>();

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

  /** Lines of one engine about one assignment are numbered; those of others may come in between. */
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
    this.#marks.add(mark);
  }
}
