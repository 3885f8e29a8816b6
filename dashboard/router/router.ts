/** The address bar is the state: the page, its filters and its tab. Links are ordinary links. */
import { computed, signal } from "@preact/signals";
import { pageAt } from "#protocol/dashboard-pages";

interface Place {
  path: string;
  search: string;
}

export const place = signal<Place>(here());
/** The page at the address, null for an address that is none. */
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

/** The address of this page with other values of the query; null and "" leave one out. */
export function withParams(changes: ParamChanges): string {
  const next = new URLSearchParams(values.value);
  for (const [name, value] of Object.entries(changes))
    if (value === null || value === "") next.delete(name);
    else next.set(name, value);
  const text = next.toString();
  return text === "" ? place.value.path : `${place.value.path}?${text}`;
}

/** Changes values of the query. They are no step back in the history: filters are tried out quickly. */
export function setParams(changes: ParamChanges): void {
  history.replaceState(history.state, "", withParams(changes));
  place.value = here();
}

/** Goes to an address of the dashboard. */
export function navigate(to: string): void {
  if (to === location.pathname + location.search) return;
  history.replaceState({ y: window.scrollY }, "");
  history.pushState(null, "", to);
  place.value = here();
  window.scrollTo(0, 0);
}

export function goBack(fallback: string): void {
  if (history.length > 1 && document.referrer !== "") history.back();
  else if (history.state === null && history.length <= 2) navigate(fallback);
  else history.back();
}

/** Where the reader was on the page that the history went back to. */
export function scrollKept(): number {
  return (history.state as { y?: number } | null)?.y ?? 0;
}

export function startRouter(): void {
  history.scrollRestoration = "manual";
  window.addEventListener("popstate", () => {
    place.value = here();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
    if (!(link instanceof HTMLAnchorElement) || link.target !== "" || link.origin !== location.origin) return;
    if (pageAt(link.pathname) === null) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}
