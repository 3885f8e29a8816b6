/** The address bar holds the state: the page, its filters and its tab. Links are ordinary links. */
import { computed, signal } from "@preact/signals";
import { pageAt } from "#protocol/routes/dashboard-pages";
import { endRestoring, isRestoring, restoreScroll } from "./scroll.ts";

interface Place {
  path: string;
  search: string;
}

export const place = signal<Place>(here());
/** The page at the address, null for an unknown address. */
export const address = computed(() => pageAt(place.value.path));
const values = computed(() => new URLSearchParams(place.value.search));

function here(): Place {
  return { path: location.pathname, search: location.search };
}

/** A value of the query; "" without one. */
export function param(name: string): string {
  return values.value.get(name) ?? "";
}

/** All values of the query, for a saved view. */
export function allParams(): string {
  return values.value.toString();
}

export type ParamChanges = Readonly<Record<string, string | null>>;

/** The address of this page with other values of the query; null and "" remove a value. */
export function withParams(changes: ParamChanges): string {
  const next = new URLSearchParams(values.value);
  for (const [name, value] of Object.entries(changes))
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  const text = next.toString();
  return text === "" ? place.value.path : `${place.value.path}?${text}`;
}

/** Data kept with an entry of the browser's history. */
interface Entry {
  /** The scroll position, in pixels from the top. */
  y: number;
  /** Number of dashboard entries before this one. */
  depth: number;
  /** Created by typing: the next letter changes the same entry. */
  typed: boolean;
}

function entry(): Entry {
  return { y: 0, depth: 0, typed: false, ...(history.state as Partial<Entry> | null) };
}

/** Changes values of the query without a history entry: what is open on the page, and closed forms. */
export function setParams(changes: ParamChanges): void {
  history.replaceState(history.state, "", withParams(changes));
  place.value = here();
}

/** Changes values of the query with a history entry that Back reverts: filters, orders, tabs and views. */
export function stepParams(changes: ParamChanges, { typed = false } = {}): void {
  const to = withParams(changes);
  if (to === location.pathname + location.search) return;
  push(to, typed);
}

/** The same for a text field while the user types: all letters share one entry. */
export function typeParams(changes: ParamChanges): void {
  if (entry().typed) setParams(changes);
  else stepParams(changes, { typed: true });
}

function push(to: string, typed: boolean): void {
  endRestoring();
  const { depth } = entry();
  keepScroll();
  history.pushState({ y: 0, depth: depth + 1, typed } satisfies Entry, "", to);
  place.value = here();
}

/** Opens an address of the dashboard. */
export function navigate(to: string): void {
  if (to === location.pathname + location.search) return;
  push(to, false);
  window.scrollTo(0, 0);
}

export function goBack(fallback: string): void {
  if (entry().depth > 0) history.back();
  else navigate(fallback);
}

/** The browser limits how often the history may be written. */
const KEEP_MS = 200;
let keepTimer = 0;

/** Stores the scroll position for a later Back or Forward. */
function scrolled(): void {
  window.clearTimeout(keepTimer);
  keepTimer = window.setTimeout(() => isRestoring() || keepScroll(), KEEP_MS);
}

function keepScroll(): void {
  history.replaceState({ ...entry(), y: window.scrollY } satisfies Entry, "");
}

export function startRouter(): void {
  history.scrollRestoration = "manual";
  window.addEventListener("popstate", () => {
    place.value = here();
    restoreScroll(entry().y);
  });
  window.addEventListener("scroll", scrolled, { passive: true });
  restoreScroll(entry().y);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || link.target !== "" || link.origin !== location.origin) return;
    if (pageAt(link.pathname) === null) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}
