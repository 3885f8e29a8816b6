/** Row operations: what the compiler accepts, the order of the written values, and the agreement of columns and schema. */
import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import type { ColumnKind, Columns } from "#storage/write/columns";
import { COLUMNS, OPERATION_NAMES, OPERATIONS, type OperationName, putOperation, putOperationInParts } from "#storage/write/ops";
import { INSERT_RUN, PUT_TASK_RUN, ROW_OPERATIONS } from "#storage/write/row-operations";
import { rowAt } from "#storage/write/row-values";
import { openStore, runRow, stateRow } from "../../support/storage-rows.ts";

/** Columns whose values may be anything: there are none. */
type AnyColumn = {
  [N in OperationName]: {
    [C in keyof ReturnType<typeof rowAt<N>>]: Primitive extends ReturnType<typeof rowAt<N>>[C] ? `${N}.${string & C}` : never;
  }[keyof ReturnType<typeof rowAt<N>>];
}[OperationName];
const noneIsUntyped: [AnyColumn] extends [never] ? true : AnyColumn = true;

/** Compiler results: a line that must not compile has the reason above. Never called. */
function typedUse(ops: Primitive[]): void {
  putOperation(ops, "put_skip", { schedule_id: 1, fire: 2, skipped_by: "api", skipped_at: 3 });
  // @ts-expect-error a column is missing
  putOperation(ops, "put_skip", { schedule_id: 1, fire: 2, skipped_by: "api" });
  // @ts-expect-error a column is misspelt
  putOperation(ops, "put_skip", { schedule_id: 1, fire: 2, skipped_by: "api", skiped_at: 3 });
  // @ts-expect-error a column of another operation
  putOperation(ops, "delete_skips", { schedule_id: 1, fire: 2 });
  // @ts-expect-error a text is no integer
  putOperation(ops, "put_rerun", { run_id: "1", due: 2 });
  // @ts-expect-error an id may not be null
  putOperation(ops, "put_rerun", { run_id: null, due: 2 });
  // @ts-expect-error a flag is 0 or 1
  putOperation(ops, "put_fan_in", { downstream_id: 1, value: "d", flow_id: 1, run_id: 1, completed: 2 });
  // @ts-expect-error no state type
  putOperation(ops, "count_runs", { flow_id: 1, state_type: "Late", delta: 1 });
  // @ts-expect-error no kind of lease
  putOperation(ops, "insert_lease", { id: 1, run_id: 1, kind: "implicit", resources: "{}", created_at: 1 });
  // @ts-expect-error values by position
  putOperation(ops, "put_rerun", 1, 2);
  // @ts-expect-error the parts miss `id`
  putOperationInParts(ops, "update_run", {}, stateRow("Running"));
}
void typedUse;
void noneIsUntyped;

t.test("values are written in the order of the columns, whatever the order of the row", async (t) => {
  const row = runRow(7, stateRow("Running", { start_time: 5 }), { priority: 3 });
  const expected = COLUMNS.insert_run.map((column) => row[column]);
  const reversed = Object.fromEntries(Object.entries(row).reverse()) as typeof row;
  const { id, external_id, ...rest } = row;
  const written = (put: (ops: Primitive[]) => void): Primitive[] => {
    const ops: Primitive[] = ["before"];
    put(ops);
    return ops;
  };
  const inOrder = written((ops) => putOperation(ops, "insert_run", row));
  t.strictSame(inOrder, ["before", OPERATION_NAMES.indexOf("insert_run"), ...expected]);
  t.strictSame(
    written((ops) => putOperation(ops, "insert_run", reversed)),
    inOrder,
  );
  t.strictSame(
    written((ops) => putOperationInParts(ops, "insert_run", { id, external_id }, rest)),
    inOrder,
  );
  t.strictSame(
    written((ops) => putOperationInParts(ops, "insert_run", rest, { id, external_id })),
    inOrder,
  );
  t.strictSame(rowAt("insert_run", inOrder, 2), row);
});

/** The type of the stored column, by kind. */
const STORED_AS: Readonly<Record<ColumnKind, string>> = {
  integer: "INTEGER",
  real: "REAL",
  text: "TEXT",
  bit: "INTEGER",
  bytes: "BLOB",
  uuid: "BLOB",
  hex: "BLOB",
  json: "TEXT",
  json_object: "TEXT",
  json_list: "TEXT",
  state_type: "INTEGER",
  state_name: "TEXT",
};

t.test("the columns of the operations that write a row are those of its table, with type and NULLs", async (t) => {
  const { statements } = openStore();
  const written = { ...ROW_OPERATIONS, insert_run: INSERT_RUN, put_task_run: PUT_TASK_RUN };
  for (const name of OPERATION_NAMES) {
    const sql = name in written ? written[name as keyof typeof written].sql : "";
    const table = /^(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)/.exec(sql)?.[1];
    if (table === undefined) continue;
    const info = statements.raw<[number, string, string, number, null, number]>(`PRAGMA table_info(${table})`).all();
    const stored = new Map(info.map(([, column, type, notNull, , key]) => [column, { type, nullable: notNull + key === 0 }]));
    for (const [column, { kind, nullable }] of Object.entries(OPERATIONS[name] as Columns)) {
      const expected = { type: STORED_AS[kind], nullable: nullable || kind === "state_name" };
      t.same(stored.get(column), expected, `${name}.${column}`);
    }
    if (!sql.startsWith("INSERT")) continue;
    const required = info.filter(
      ([, column, , notNull]) => notNull === 1 && !(COLUMNS[name] as readonly string[]).includes(column),
    );
    t.same(required, [], `${name} gives every column that may not be NULL`);
  }
});
