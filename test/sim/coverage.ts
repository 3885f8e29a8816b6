/**
 * Coverage over all seeds: cells of the state table, row operations, faults, features of exchanges. Anything never reached is
 * an error.
 */
import { STATE_TYPES, type StateType } from "#protocol/records/state";
import { OPERATION_NAMES } from "#storage/write/ops";
import { FAULTS } from "./fault-plan.ts";

export type From = StateType | "none";

type Counts = Map<string, number>;

/** What happens between the server and engines that exchange. */
export const EXCHANGE_FEATURES = [
  "reports of several runs in one exchange",
  "a newer exchange ends a held one",
  "the same exchange is sent twice",
  "a lost exchange is sent again under its number",
  "reports of a lost exchange go with a newer one",
  "an answer is lost after its exchange was applied",
  "an older exchange is refused",
  "two answers give the same run",
  "a run is handed back",
  "a run is given to a slot that is gone",
  "an engine forgets a run before its start",
  "an engine leaves a run that has begun",
  "an order to stop is obeyed",
  "an order to stop is not obeyed",
  "a report after the end of its run",
  "a wrong report beside good ones",
  "a report under a lease that was never given",
  "a report behind one that is applied in slices",
  "a report as a request of its own",
  "an engine ends with begun and other runs",
  "an engine ends with 100 runs",
  "an engine comes back as another process",
  "a late request of a former process",
  "an exclusive run on an engine with slots",
  "a run that is to run alone",
  "an uncounted crash",
] as const;

export type ExchangeFeature = (typeof EXCHANGE_FEATURES)[number];

/** What happens to durable runs, and to runs that are parked. */
export const DURABLE_FEATURES = [
  "an attempt finds results of steps",
  "a step under a lease that is over",
  "a run is parked for several waits",
  "a run is parked for its retry delay",
  "a park for a wait that has settled",
  "a park for a wait that does not exist",
  "a parked run keeps its resources",
  "a parked run is cancelled",
  "a parked run is deleted",
  "a wait that ended with its lineage is armed again",
  "an event settles a wait",
  "a person wakes a run",
  "a wait times out",
  "a child ends and settles its wait",
  "a child is gone",
  "a child ends with its caller",
  "a child outlives its caller",
  "a fork finds results of its origin",
] as const;

export type DurableFeature = (typeof DURABLE_FEATURES)[number];

const PARTS = ["cells", "operations", "faults", "exchanges", "durable", "answers"] as const;

/** What coverage is once it has come from another thread. */
export type CoverageCounts = Pick<Coverage, (typeof PARTS)[number]>;

/** The simulated store is SQLite, where settings that are changed at run time go to a file. */
const NOT_SIMULATED: ReadonlySet<string> = new Set(["put_setting"]);

export class Coverage {
  readonly cells: Counts = new Map();
  readonly operations: Counts = new Map();
  readonly faults: Counts = new Map();
  readonly exchanges: Counts = new Map();
  readonly durable: Counts = new Map();
  readonly answers: Counts = new Map();

  cell(from: From, to: StateType): void {
    count(this.cells, `${from} > ${to}`);
  }

  operation(name: string): void {
    count(this.operations, name);
  }

  fault(name: string): void {
    count(this.faults, name);
  }

  exchange(feature: ExchangeFeature): void {
    count(this.exchanges, feature);
  }

  durableRun(feature: DurableFeature): void {
    count(this.durable, feature);
  }

  answer(kind: string, status: number): void {
    count(this.answers, `${kind} ${status}`);
  }

  add(other: CoverageCounts): void {
    for (const part of PARTS) {
      for (const [key, times] of other[part]) count(this[part], key, times);
    }
  }

  /** Required items that were never reached. */
  missing(): string[] {
    const froms: From[] = [...STATE_TYPES, "none"];
    const cells = froms.flatMap((from) => STATE_TYPES.map((to) => `${from} > ${to}`));
    return [
      ...cells.filter((cell) => !this.cells.has(cell)).map((cell) => `move ${cell}`),
      ...OPERATION_NAMES.filter((name) => !NOT_SIMULATED.has(name) && !this.operations.has(name)).map(
        (name) => `operation ${name}`,
      ),
      ...FAULTS.filter((fault) => !this.faults.has(fault)).map((fault) => `fault "${fault}"`),
      ...EXCHANGE_FEATURES.filter((feature) => !this.exchanges.has(feature)).map((feature) => `exchange "${feature}"`),
      ...DURABLE_FEATURES.filter((feature) => !this.durable.has(feature)).map((feature) => `durable "${feature}"`),
    ];
  }

  /** Tables with the number of occurrences. */
  render(): string {
    const froms: From[] = [...STATE_TYPES, "none"];
    const width = 11;
    const row = (head: string, cells: readonly string[]): string =>
      head.padEnd(width) + cells.map((cell) => cell.padStart(width)).join("");
    const table = froms.map((from) =>
      row(
        from,
        STATE_TYPES.map((to) => String(this.cells.get(`${from} > ${to}`) ?? "-")),
      ),
    );
    const list = (counts: Counts): string[] => [...counts].sort().map(([key, times]) => `  ${key}: ${times}`);
    return [
      "moves proposed or made, from (rows) to (columns):",
      row("", STATE_TYPES),
      ...table,
      "row operations:",
      ...list(this.operations),
      "faults:",
      ...list(this.faults),
      "exchanges:",
      ...list(this.exchanges),
      "durable runs:",
      ...list(this.durable),
      "answers:",
      ...list(this.answers),
    ].join("\n");
  }

  toJSON(): unknown {
    return Object.fromEntries(PARTS.map((part) => [part, Object.fromEntries(this[part])]));
  }
}

function count(counts: Counts, key: string, times = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + times);
}
