/** Coverage over all seeds: cells of the state table, row operations, faults. Anything never reached is an error. */
import { STATE_TYPES, type StateType } from "#protocol/records/state";
import { OPERATION_NAMES } from "#storage/write/ops";
import { FAULTS } from "./fault-plan.ts";

export type From = StateType | "none";

type Counts = Map<string, number>;

export class Coverage {
  readonly cells: Counts = new Map();
  readonly operations: Counts = new Map();
  readonly faults: Counts = new Map();
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

  answer(kind: string, status: number): void {
    count(this.answers, `${kind} ${status}`);
  }

  add(other: Coverage): void {
    for (const part of ["cells", "operations", "faults", "answers"] as const) {
      for (const [key, times] of other[part]) count(this[part], key, times);
    }
  }

  /** Required items that were never reached. */
  missing(): string[] {
    const froms: From[] = [...STATE_TYPES, "none"];
    const cells = froms.flatMap((from) => STATE_TYPES.map((to) => `${from} > ${to}`));
    return [
      ...cells.filter((cell) => !this.cells.has(cell)).map((cell) => `move ${cell}`),
      ...OPERATION_NAMES.filter((name) => !this.operations.has(name)).map((name) => `operation ${name}`),
      ...FAULTS.filter((fault) => !this.faults.has(fault)).map((fault) => `fault "${fault}"`),
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
      "answers:",
      ...list(this.answers),
    ].join("\n");
  }

  toJSON(): unknown {
    const { cells, operations, faults, answers } = this;
    return Object.fromEntries(
      Object.entries({ cells, operations, faults, answers }).map(([key, counts]) => [key, Object.fromEntries(counts)]),
    );
  }
}

function count(counts: Counts, key: string, times = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + times);
}
