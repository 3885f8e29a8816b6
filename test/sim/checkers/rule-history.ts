/** Inputs of rules: rules and events as committed, in terms of the interface and independent of the code under test. */
import type { FullMatch, FullSpec } from "#protocol/records/rule-spec";
import type { Checker, Operation } from "./checker.ts";
import type { History } from "./history.ts";

export interface CommittedRule {
  id: number;
  enabled: boolean;
  since: number;
  sinceTime: number;
  spec: FullSpec;
}

export interface CommittedEvent {
  id: number;
  name: string;
  occurred: number;
  run: number | null;
  flow: number | null;
  flowName: string | null;
  project: string | null;
  tags: readonly string[];
  /** State type and name of the event itself; null for an event without a state. */
  states: readonly string[] | null;
  /** Creators of the event's run; catch-up changes the creator of a fire's run. */
  creators: readonly string[];
  payload: Record<string, unknown> | null;
}

interface RunFacts {
  flow: number;
  tags: string[];
  creators: string[];
}

export class RuleHistory implements Checker {
  readonly rules = new Map<number, CommittedRule>();
  readonly events: CommittedEvent[] = [];
  /** Events that crashed the rules and were skipped. */
  readonly passed = new Set<number>();
  readonly runsGone = new Set<number>();
  readonly flowsGone = new Set<number>();
  /** The newest event whose reactions are stored. */
  cursor = 0;
  readonly #runs = new Map<number, RunFacts>();
  readonly #flowNames = new Map<number, string>();

  operation(operation: Operation, history: History): void {
    switch (operation.name) {
      case "insert_flow":
        this.#flowNames.set(operation.number("id"), operation.text("name"));
        return;
      case "delete_flow":
        this.flowsGone.add(operation.number("id"));
        for (const run of history.runs.values()) if (run.flow === operation.number("id")) this.runsGone.add(run.id);
        return;
      case "insert_run":
        return this.#addRun(operation);
      case "set_run_creator":
        this.#runs.get(operation.number("id"))?.creators.push(operation.text("created_by"));
        return;
      case "delete_run":
        this.runsGone.add(operation.number("id"));
        return;
      case "put_rule":
        return this.#putRule(operation);
      case "delete_rule":
        this.rules.delete(operation.number("id"));
        return;
      case "insert_quarantine":
        this.passed.add(Number(operation.text("subject").split(" ")[1]));
        return;
      case "insert_event":
        this.events.push(this.#event(operation));
        return;
      default:
    }
  }

  /** The events after one id through another. */
  between(after: number, upTo: number): CommittedEvent[] {
    return this.events.slice(after, upTo);
  }

  event(id: number): CommittedEvent | undefined {
    return this.events[id - 1];
  }

  /** The event's run may have been deleted before the event was processed; then part of the event is unknown. */
  isGone(event: CommittedEvent): boolean {
    return (event.run !== null && this.runsGone.has(event.run)) || (event.flow !== null && this.flowsGone.has(event.flow));
  }

  #addRun(operation: Operation): void {
    const tags = JSON.parse(operation.text("tags")) as string[];
    const flow = operation.number("flow_id");
    this.#runs.set(operation.number("id"), { flow, tags, creators: [operation.text("created_by")] });
  }

  #putRule(operation: Operation): void {
    const id = operation.number("id");
    const spec = JSON.parse(operation.text("spec")) as FullSpec;
    const [since, sinceTime] = [operation.number("since_event"), operation.number("since_time")];
    this.rules.set(id, { id, enabled: operation.get("enabled") === 1, since, sinceTime, spec });
  }

  #event(operation: Operation): CommittedEvent {
    const run = operation.get("run_id") === null ? null : operation.number("run_id");
    const facts = run === null ? undefined : this.#runs.get(run);
    const flow = operation.get("flow_id") === null ? (facts?.flow ?? null) : operation.number("flow_id");
    const type = operation.get("state_type");
    const given = operation.get("resource") === null ? null : (JSON.parse(operation.text("payload")) as Record<string, unknown>);
    const flowName = flow === null ? null : (this.#flowNames.get(flow) ?? null);
    return {
      ...{
        id: this.events.length + 1,
        name: operation.text("name"),
        occurred: operation.number("occurred"),
        run,
        flow,
        flowName,
      },
      project: flowName === null ? ((given?.["project"] as string | undefined) ?? null) : "sim",
      tags: facts?.tags ?? [],
      states: type === null ? null : [operation.text("state_type"), operation.text("state_name")],
      creators: facts?.creators ?? [],
      payload: given,
    };
  }
}

/** Whether a clause matches an event: "maybe" where that depends on a state known only at the time of processing. */
export function means(match: FullMatch, event: CommittedEvent): boolean | "maybe" {
  const named = match.events.some((name) =>
    name.endsWith("*") ? event.name.startsWith(name.slice(0, -1)) : event.name === name,
  );
  if (match.events.length > 0 && !named) return false;
  if (match.flows.length > 0 && (event.flowName === null || !match.flows.includes(event.flowName))) return false;
  if (match.project !== null && match.project !== event.project) return false;
  if (match.tags.length > 0 && !match.tags.some((tag) => event.tags.includes(tag))) return false;
  if (match.states.length === 0) return true;
  if (event.states === null) return "maybe";
  const { states } = event;
  return match.states.some((wanted) => states.some((state) => state.toLowerCase() === wanted.toLowerCase()));
}
