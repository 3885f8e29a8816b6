/** The routes of user code. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { RouteSpec } from "#protocol/records/server";
import { count } from "../../format/number.ts";
import { Section } from "../../parts/layout.tsx";
import { type Column, Table } from "../../parts/table/table.tsx";

const COLUMNS: readonly Column<RouteSpec>[] = [
  { id: "method", head: "Method", width: "88px", narrow: "start", cell: ({ method }) => <span class="mono">{method}</span> },
  {
    id: "path",
    head: "Path",
    narrow: "line",
    cell: ({ path }) => (
      <span class="cut mono" title={path}>
        {path}
      </span>
    ),
  },
  { id: "source", head: "From", width: "40%", narrow: "line", cell: ({ source }) => <span class="cut dim">{source}</span> },
];

export function RoutesTable({ routes }: { routes: readonly RouteSpec[] }): JSX.Element {
  const cursor = useSignal<number | string | null>(null);
  return (
    <Section title="Custom routes" note={routes.length > 0 ? count(routes.length) : undefined}>
      {routes.length === 0 ? (
        <p class="calm dim">None: a served module adds routes with the function route of the package.</p>
      ) : (
        <Table
          label="Custom routes"
          columns={COLUMNS}
          rows={routes}
          keyOf={({ id }) => id}
          total={routes.length}
          cursor={cursor}
          keys={false}
        />
      )}
    </Section>
  );
}
