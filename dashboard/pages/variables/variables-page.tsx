/** Variables that flows read by name. The values of secrets are masked. */

import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { VariableRow } from "#protocol/records/variable";
import { ask, messageOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { withMarksShown } from "../../format/marks.ts";
import { count } from "../../format/number.ts";
import { fullTime, shortTime } from "../../format/time.ts";
import { useKeys } from "../../input/keys.ts";
import { Key, PageTitle } from "../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { type Column, Table, TIME_WIDTH } from "../../parts/table/table.tsx";
import { showToast } from "../../parts/toast.tsx";
import { param, setParams, typeParams, withParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import { VariableDialog } from "./variable-dialog.tsx";
import "./variables.css";
import { offline } from "../../live/link.ts";

/** Variables whose deletion can still be undone. */
const leaving = signal<ReadonlySet<string>>(new Set());

function leave(name: string, leaves: boolean): void {
  const next = new Set(leaving.value);
  if (leaves) next.add(name);
  else next.delete(name);
  leaving.value = next;
}

/** Deletes the variable when the toast ends; until then the deletion can be undone. */
function remove(name: string): void {
  setParams({ edit: null });
  leave(name, true);
  showToast(`${name} deleted. Flows that read it get none.`, {
    undo: () => leave(name, false),
    commit: () =>
      void ask(`/api/variables/${encodeURIComponent(name)}`, { method: "DELETE", keepalive: true })
        .catch((cause: unknown) => showToast(`${name} was not deleted: ${messageOf(cause)}.`))
        .finally(() => leave(name, false)),
  });
}

const COLUMNS: readonly Column<VariableRow>[] = [
  {
    id: "name",
    head: "Name",
    width: "26%",
    narrow: "start",
    cell: ({ name }) => (
      <a class="row-link cut mono name" href={withParams({ edit: name })} title={name}>
        {name}
      </a>
    ),
  },
  {
    id: "value",
    head: "Value",
    narrow: "line",
    cell: ({ value, secret }) =>
      secret ? (
        <span class="secret-value dim">
          <Glyph name="lock" /> secret
        </span>
      ) : (
        <span class="cut mono" title={JSON.stringify(value, null, 2)}>
          {withMarksShown(JSON.stringify(value) ?? "")}
        </span>
      ),
  },
  { id: "tags", head: "Tags", width: "16%", medium: false, cell: ({ tags }) => <span class="cut">{tags?.join(", ")}</span> },
  {
    id: "updated",
    head: "Updated",
    width: TIME_WIDTH,
    align: "right",
    narrow: "end",
    cell: ({ updated_at }) => <time title={fullTime(updated_at)}>{shortTime(updated_at)}</time>,
  },
  {
    id: "delete",
    head: <span class="sr">Delete</span>,
    width: "84px",
    align: "right",
    cell: ({ name }) => (
      <button
        type="button"
        class="button small quiet"
        aria-label={`Delete ${name}`}
        disabled={offline.value}
        onClick={() => remove(name)}
      >
        Delete
      </button>
    ),
  },
];

export function Page(): JSX.Element {
  const query = useQuery<VariableRow[]>("/api/variables", { live: { "variable.updated": true } });
  const cursor = useSignal<number | string | null>(null);
  const editing = param("edit");
  const adding = param("new") !== "";
  const close = () => setParams({ edit: null, new: null });
  useKeys([{ keys: "n", does: "new variable", run: () => setParams({ new: "variable" }) }], { group: "Variables" });
  const shown = useShown(query.data);
  const chosen = query.data?.find(({ name }) => name === editing);
  return (
    <>
      <PageTitle
        title="Variables"
        actions={
          <a class="button primary" href={withParams({ new: "variable" })}>
            {"New variable\u2026"} <Key name="n" />
          </a>
        }
      />
      <p class="sub">
        Named values that flows read with <code class="mono">variable.get()</code>. Secrets are encrypted at rest, and masked
        until somebody makes them plain.
      </p>
      {query.error !== null && query.data === null && (
        <Failure what="The list of variables" error={query.error} again={query.refresh} />
      )}
      {query.data === null && query.error === null && <Loading />}
      {query.data?.length === 0 && (
        <Empty title="No variables yet" command="npx millrace variables set NAME VALUE">
          What several flows need, or what changes without a change of code, belongs here.
        </Empty>
      )}
      {query.data !== null && query.data.length > 0 && <Filter found={shown.length} all={query.data.length} />}
      {shown.length > 0 && (
        <Table
          label="Variables"
          columns={COLUMNS}
          rows={shown}
          keyOf={({ name }) => name}
          href={({ name }) => withParams({ edit: name })}
          total={shown.length}
          cursor={cursor}
        />
      )}
      {adding && <VariableDialog known={null} close={close} remove={remove} />}
      {chosen !== undefined && <VariableDialog key={chosen.name} known={chosen} close={close} remove={remove} />}
    </>
  );
}

function useShown(variables: readonly VariableRow[] | null): readonly VariableRow[] {
  const text = param("q").toLowerCase();
  const gone = leaving.value;
  return useMemo(
    () =>
      (variables ?? []).filter(
        ({ name, tags }) => !gone.has(name) && [name, ...(tags ?? [])].some((word) => word.toLowerCase().includes(text)),
      ),
    [variables, text, gone],
  );
}

function Filter({ found, all }: { found: number; all: number }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  useKeys([{ keys: "/", does: "search", run: () => field.current?.focus() }], { group: "Variables" });
  return (
    <div class="toolbar">
      <label class="field search">
        <Glyph name="search" />
        <span class="sr">Search variables</span>
        <input
          ref={field}
          type="text"
          placeholder="Name or tag"
          value={param("q")}
          onInput={(event) => typeParams({ q: event.currentTarget.value })}
          onKeyDown={(event) => event.key === "Escape" && field.current?.blur()}
        />
        <Key name="/" />
      </label>
      <span class="meta dim">{found === all ? count(all) : `${count(found)} of ${count(all)}`}</span>
    </div>
  );
}
