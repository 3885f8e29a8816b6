/**
 * Finds the rules that an event concerns. Each rule is entered in a table under every combination of its event names, flows,
 * projects and states; an event looks up the few combinations it has. So an event costs only the rules that can match it.
 */
import type { FullMatch } from "#protocol/records/rule-spec";
import type { SeenEvent } from "#storage/load/load-events";
import { hasTag } from "#storage/read/event-match";
import type { Rule } from "../../core/state/rule.ts";

/** Stands for a clause that is not set. */
const ANY = null;
type Clause = string | typeof ANY;

type RulesByState = Map<Clause, Rule[]>;

/** Rules by the values of one of their clauses. */
class MatchTable {
  /** By event name, flow, project and state. */
  readonly #byName = new Map<string, Map<Clause, Map<Clause, RulesByState>>>();
  readonly #prefixLengths = new Set<number>();
  #everything = false;

  add(rule: Rule, match: FullMatch): void {
    const names = match.events.length === 0 ? ["*"] : new Set(match.events);
    const states = orAny(match.states.map((each) => each.toLowerCase()));
    for (const name of names) {
      if (name.endsWith("*")) this.#prefixLengths.add(name.length - 1);
      if (name === "*") this.#everything = true;
      for (const flow of orAny(match.flows)) {
        const byState = mapIn(mapIn(mapIn(this.#byName, name), flow), match.project ?? ANY);
        for (const state of states) {
          const known = byState.get(state);
          if (known === undefined) byState.set(state, [rule]);
          else known.push(rule);
        }
      }
    }
  }

  get empty(): boolean {
    return this.#byName.size === 0;
  }

  /** Whether an event of this name can match. */
  hasName(name: string): boolean {
    return this.#namesOf(name).length > 0;
  }

  /** The rules whose clause matches the event, by id. */
  find(event: SeenEvent, clause: (rule: Rule) => FullMatch | null): Rule[] {
    const names = this.#namesOf(event.name);
    if (names.length === 0) return [];
    const found = new Set<Rule>();
    const flows = event.flow === null ? [ANY] : [ANY, event.flow];
    const projects = event.project === null ? [ANY] : [ANY, event.project];
    for (const name of names)
      for (const flow of flows)
        for (const project of projects) {
          const byState = this.#byName.get(name)?.get(flow)?.get(project);
          if (byState === undefined) continue;
          for (const state of [ANY, ...event.states]) for (const rule of byState.get(state) ?? []) found.add(rule);
        }
    const tagged = (rule: Rule): boolean => {
      const match = clause(rule);
      return match === null || hasTag(match, event);
    };
    return [...found].filter(tagged).sort((a, b) => a.id - b.id);
  }

  #namesOf(name: string): string[] {
    const names = this.#byName.has(name) ? [name] : [];
    for (const length of this.#prefixLengths) {
      if (length === 0 ? !this.#everything : length > name.length) continue;
      const prefix = `${name.slice(0, length)}*`;
      if (this.#byName.has(prefix)) names.push(prefix);
    }
    return names;
  }
}

/** The map under a key, added if it is missing. */
function mapIn<Key, Inner, Value>(map: Map<Key, Map<Inner, Value>>, key: Key): Map<Inner, Value> {
  const known = map.get(key);
  if (known !== undefined) return known;
  const added = new Map<Inner, Value>();
  map.set(key, added);
  return added;
}

const ONLY_ANY: readonly Clause[] = [ANY];

function orAny(values: readonly string[]): readonly Clause[] {
  return values.length === 0 ? ONLY_ANY : [...new Set(values)];
}

/** The event that fires the rule that owns the expectation. */
export const LAPSED = "expectation.lapsed";
/** Cached names; bounded, because user code chooses event names. */
const NAMES_REMEMBERED = 10_000;

/** The enabled rules, by the role that an event can have for them. */
export class RuleIndex {
  readonly #firing = new MatchTable();
  readonly #arming = new MatchTable();
  readonly #meeting = new MatchTable();
  readonly #concerned = new Map<string, boolean>();
  #hasClocks = false;

  constructor(rules: Iterable<Rule>) {
    for (const rule of rules) {
      const { when, unless, at } = rule.spec;
      if (!rule.enabled) continue;
      if (unless === null) this.#firing.add(rule, when);
      else if (at !== null) this.#hasClocks = true;
      else {
        this.#arming.add(rule, when);
        this.#meeting.add(rule, unless);
      }
    }
  }

  /** True when no event can concern a rule. Lapses found by a clock are events as well. */
  get empty(): boolean {
    return this.#firing.empty && this.#arming.empty && !this.#hasClocks;
  }

  /** Whether events of this name can concern a rule. Events about rules never fire rules. */
  concerns(name: string): boolean {
    const known = this.#concerned.get(name);
    if (known !== undefined) return known;
    const tables = [this.#firing, this.#arming, this.#meeting];
    const concerned = name === LAPSED || (!name.startsWith("rule.") && tables.some((table) => table.hasName(name)));
    if (this.#concerned.size < NAMES_REMEMBERED) this.#concerned.set(name, concerned);
    return concerned;
  }

  firedBy(event: SeenEvent): Rule[] {
    return this.#firing.find(event, ({ spec }) => spec.when);
  }

  armedBy(event: SeenEvent): Rule[] {
    return this.#arming.find(event, ({ spec }) => spec.when);
  }

  metBy(event: SeenEvent): Rule[] {
    return this.#meeting.find(event, ({ spec }) => spec.unless);
  }
}
