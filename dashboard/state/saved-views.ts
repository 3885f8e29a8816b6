/** Views of the runs that the user saved under a name: filters and order, kept in this browser. */
import { signal } from "@preact/signals";
import { readSetting, writeSetting } from "./settings.ts";

const SETTING = "views";
/** More names do not fit into one line. */
export const VIEWS_MAX = 8;

export interface SavedView {
  name: string;
  /** The query of the address, in the order of its names. */
  query: string;
}

export const savedViews = signal<readonly SavedView[]>(parseViews(readSetting(SETTING)));

/** The stored views; unreadable ones are dropped. */
export function parseViews(text: string | null): SavedView[] {
  try {
    const kept = JSON.parse(text ?? "[]") as unknown;
    return Array.isArray(kept) ? kept.filter(isView).slice(0, VIEWS_MAX) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView {
  const { name, query } = (value ?? {}) as Partial<SavedView>;
  return typeof name === "string" && name !== "" && typeof query === "string";
}

/** One text per view, whatever the order in which its filters were chosen. */
export function viewQuery(query: string): string {
  const values = new URLSearchParams(query);
  values.sort();
  return values.toString();
}

function keep(views: readonly SavedView[]): void {
  savedViews.value = views;
  writeSetting(SETTING, views.length === 0 ? null : JSON.stringify(views));
}

/** Saves a view; a view of the same name is replaced. */
export function saveView(view: SavedView): void {
  const others = savedViews.value.filter(({ name }) => name !== view.name);
  keep([...others, { ...view, query: viewQuery(view.query) }]);
}

export function forgetView(name: string): void {
  keep(savedViews.value.filter((view) => view.name !== name));
}
