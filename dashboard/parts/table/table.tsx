/**
 * The table of the dashboard: a real table that draws only the rows in the window, with a cursor (j k), selection (x) and a
 * link per row (Enter, o). Below 900 px a row becomes a block of lines; each column defines its place in it.
 */

import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { memo } from "preact/compat";
import { useEffect, useRef } from "preact/hooks";
import { useKeys } from "../../input/keys.ts";
import { navigate } from "../../router/router.ts";
import { useNarrow } from "../media.ts";
import { useVirtualRows } from "./virtual-rows.ts";
import "./table.css";

/** Height of the top bar, and of the table head that stays below it. */
const COVERED = 44 + 28;
const ROW_HEIGHT = 32;

/** Width of a column of times: fits "Thu 22 Oct, 14:15". */
export const TIME_WIDTH = "140px";

export interface Column<T> {
  id: string;
  head: ComponentChildren;
  /** CSS width; "" takes the remaining space. */
  width?: string;
  align?: "right";
  cell: (row: T) => ComponentChildren;
  /** In a narrow window: at the left or right of the first line, a line of its own, or hidden (the default). */
  narrow?: "start" | "end" | "line";
  /** False hides the column between 901 and 1280 px. */
  medium?: boolean;
  /** The orders that clicks on the head cycle through, by their name in the address; after the last comes none. */
  sort?: readonly string[];
}

export interface TableProps<T> {
  /** The content of the table, for screen readers: "Runs". */
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => number | string;
  /** Number of all rows, loaded or not. */
  total: number;
  /** The link of a row. */
  href?: (row: T) => string;
  /** The selected rows, by key; without it rows cannot be selected. */
  selection?: Signal<ReadonlySet<number | string>>;
  cursor: Signal<number | string | null>;
  /** Called near the last loaded row, to load more. */
  nearEnd?: () => void;
  /** The rows belong to a former query. */
  stale?: boolean;
  /** Estimated height of a row in a narrow window; the real height is measured. */
  narrowHeight?: number;
  sorted?: { by: string; choose: (sort: string) => void };
  /** False on a page whose keys belong to another table. */
  keys?: boolean;
  foot?: (range: { first: number; last: number }) => ComponentChildren;
}

export function Table<T>(props: TableProps<T>): JSX.Element {
  const { label, columns, rows, keyOf, total, cursor, selection, stale = false } = props;
  const narrow = useNarrow();
  const body = useRef<HTMLTableSectionElement>(null);
  const height = narrow ? (props.narrowHeight ?? 72) : ROW_HEIGHT;
  const virtual = useVirtualRows({ count: rows.length, height, scroller: null, list: body, covered: narrow ? 0 : COVERED });
  useRowKeys(props, virtual.scrollTo);
  const last = virtual.items.at(-1)?.index ?? -1;
  // By the rows, not by their number: a list that was read again may need its next page, however long it was before.
  useEffect(() => {
    if (last >= rows.length - 20) props.nearEnd?.();
  }, [last, rows]);
  const seen = virtual.items.filter(({ index }) => index < rows.length);
  return (
    <>
      <table class={`table ${stale ? "stale" : ""}`} aria-rowcount={total + 1} aria-label={label} aria-busy={stale}>
        <Heads columns={columns} selectable={selection !== undefined} sorted={props.sorted} />
        <tbody ref={body}>
          <Spacer height={virtual.before} />
          {seen.map(({ index }) => {
            const row = rows[index] as T;
            const key = keyOf(row);
            return (
              <Row
                key={key}
                {...{ row, index, columns: columns as readonly Column<unknown>[] }}
                href={props.href?.(row)}
                current={cursor.value === key}
                selected={selection === undefined ? null : selection.value.has(key)}
                measure={narrow ? virtual.measure : null}
                choose={(chosen) => select(selection, key, chosen)}
                point={() => {
                  cursor.value = key;
                }}
              />
            );
          })}
          <Spacer height={virtual.after} />
        </tbody>
      </table>
      {props.foot?.(rangeOf(seen, rows.length))}
    </>
  );
}

function rangeOf(seen: readonly { index: number; start: number; end: number }[], count: number): { first: number; last: number } {
  const top = window.scrollY + COVERED;
  const bottom = window.scrollY + window.innerHeight - 40;
  const inside = seen.filter(({ start, end }) => end > top && start < bottom);
  return { first: count === 0 ? 0 : (inside[0]?.index ?? 0) + 1, last: Math.min(count, (inside.at(-1)?.index ?? count - 1) + 1) };
}

/** One cell without a span: spanning the columns would show those that the window has no room for. */
function Spacer({ height }: { height: number }): JSX.Element | null {
  if (height <= 0) return null;
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row without content takes no focus
    <tr class="spacer" aria-hidden="true">
      <td style={{ height: `${height}px` }} />
    </tr>
  );
}

function Heads<T>({
  columns,
  selectable,
  sorted,
}: {
  columns: readonly Column<T>[];
  selectable: boolean;
  sorted: TableProps<T>["sorted"];
}) {
  return (
    <>
      <colgroup>
        {selectable && <col class="c-select" />}
        {columns.map(({ id, width, medium }) => (
          <col key={id} style={width === undefined ? undefined : { width }} class={medium === false ? "wide-only" : undefined} />
        ))}
      </colgroup>
      <thead>
        <tr aria-rowindex={1}>
          {selectable && (
            <th scope="col" class="c-select">
              <span class="sr">Selected</span>
            </th>
          )}
          {columns.map((column) => (
            <Head key={column.id} {...{ column, sorted }} />
          ))}
        </tr>
      </thead>
    </>
  );
}

function Head<T>({ column, sorted }: { column: Column<T>; sorted: TableProps<T>["sorted"] }): JSX.Element {
  const classes = `${column.align === "right" ? "num" : ""} ${column.medium === false ? "wide-only" : ""}`;
  if (column.sort === undefined || sorted === undefined)
    return (
      <th scope="col" class={classes}>
        {column.head}
      </th>
    );
  const { sort } = column;
  const at = sort.indexOf(sorted.by);
  const order = at === -1 ? "none" : sorted.by.endsWith("_asc") ? "ascending" : "descending";
  return (
    <th scope="col" class={classes} aria-sort={order}>
      <button type="button" class="sort" onClick={() => sorted.choose(sort[at + 1] ?? "")}>
        {column.head}
        <span aria-hidden="true">{order === "descending" ? " \u2193" : order === "ascending" ? " \u2191" : ""}</span>
      </button>
    </th>
  );
}

interface RowProps {
  row: unknown;
  index: number;
  columns: readonly Column<unknown>[];
  href: string | undefined;
  current: boolean;
  /** Null if rows cannot be selected. */
  selected: boolean | null;
  /** For rows with heights of their own. */
  measure: ((element: Element | null) => void) | null;
  choose: (chosen: boolean) => void;
  point: () => void;
}

/** A click on a row opens it, except on a control or after a text selection. */
function opens(event: MouseEvent): boolean {
  const target = event.target instanceof Element ? event.target : null;
  return target?.closest("a, button, input, label") === null && getSelection()?.isCollapsed !== false;
}

const Row = memo(
  function Row({ row, index, columns, href, current, selected, measure, choose, point }: RowProps): JSX.Element {
    const classes = `${current ? "cursor" : ""} ${selected === true ? "selected" : ""} ${href === undefined ? "" : "leads"}`;
    const open = (event: MouseEvent) => {
      point();
      if (href !== undefined && opens(event)) navigate(href);
    };
    return (
      <tr class={classes} aria-rowindex={index + 2} data-index={index} ref={measure} tabIndex={current ? 0 : -1} onClick={open}>
        {selected !== null && (
          <td class="c-select">
            <input
              type="checkbox"
              aria-label={`Select row ${index + 1}`}
              checked={selected}
              tabIndex={-1}
              // By the shown state: the click first moves the cursor, and redrawing the row resets the checkbox.
              onChange={() => choose(!selected)}
            />
          </td>
        )}
        {columns.map(({ id, align, narrow, medium, cell }) => (
          <td
            key={id}
            class={`${align === "right" ? "num" : ""} ${narrow === undefined ? "wide" : `at-${narrow}`} ${medium === false ? "wide-only" : ""}`}
          >
            {cell(row)}
          </td>
        ))}
      </tr>
    );
  },
  (a, b) =>
    a.row === b.row &&
    a.index === b.index &&
    a.current === b.current &&
    a.selected === b.selected &&
    (a.measure === null) === (b.measure === null) &&
    a.href === b.href &&
    a.columns === b.columns,
);

function select(selection: TableProps<unknown>["selection"], key: number | string, chosen: boolean): void {
  if (selection === undefined) return;
  const next = new Set(selection.peek());
  if (chosen) next.add(key);
  else next.delete(key);
  selection.value = next;
}

function useRowKeys<T>(props: TableProps<T>, scrollTo: (index: number) => void): void {
  const { rows, keyOf, cursor, selection, href } = props;
  const at = () => rows.findIndex((row) => keyOf(row) === cursor.peek());
  const current = () => rows[at()];
  const move = (to: number) => {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    const row = rows[index];
    if (row === undefined) return;
    cursor.value = keyOf(row);
    scrollTo(index);
    requestAnimationFrame(() => document.querySelector<HTMLElement>("tr.cursor")?.focus({ preventScroll: true }));
  };
  const open = (how: (address: string) => void) => () => {
    const row = current();
    if (row !== undefined && href !== undefined) how(href(row));
  };
  const mark = () => {
    const row = current();
    if (row !== undefined) select(selection, keyOf(row), selection?.peek().has(keyOf(row)) === false);
  };
  const clear = () => {
    if (selection !== undefined) selection.value = new Set();
  };
  const bindings = [
    { keys: "j", does: "next row", run: () => move(at() + 1) },
    { keys: "k", does: "previous row", run: () => move(at() === -1 ? 0 : at() - 1) },
    ...(href === undefined
      ? []
      : [
          { keys: "Enter", does: "open the row", run: open(navigate) },
          { keys: "o", does: "open the row in a new tab", run: open((address) => window.open(address, "_blank", "noopener")) },
        ]),
    ...(selection === undefined ? [] : [{ keys: "x", does: "select the row", run: mark }]),
    ...(selection === undefined || selection.value.size === 0 ? [] : [{ keys: "Escape", does: "select nothing", run: clear }]),
  ];
  useKeys(props.keys === false ? [] : bindings, { group: props.label });
}
