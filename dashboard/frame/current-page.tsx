/** The page of the address. Its module is fetched on first use, and again when the server is back after a failure. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { type DashboardPage, pagePath } from "#protocol/routes/dashboard-pages";
import { offline } from "../live/link.ts";
import { PAGES, type PageModule } from "../pages/pages.ts";
import { Empty } from "../parts/notice.tsx";
import { address } from "../router/router.ts";

const modules = signal<ReadonlyMap<DashboardPage, PageModule>>(new Map());
/** The page whose module failed to load. */
const missing = signal<DashboardPage | null>(null);

/** Fetches the module of the page at the address, unless it is loaded. */
export async function loadPage(): Promise<void> {
  const page = address.peek()?.page;
  if (page === undefined || modules.peek().has(page)) return;
  try {
    const module = await PAGES[page]();
    modules.value = new Map(modules.peek()).set(page, module);
    missing.value = null;
  } catch {
    missing.value = page;
  }
}

export function CurrentPage(): JSX.Element | null {
  const found = address.value;
  const page = found?.page ?? null;
  const module = page === null ? undefined : modules.value.get(page);
  useLayoutEffect(() => {
    loadPage();
  }, [page, offline.value]);
  if (found === null)
    return (
      <Empty title="There is no such page">
        <a href={pagePath("runs")}>Runs</a> has everything that ran.
      </Empty>
    );
  if (module !== undefined) return <module.Page key={`${page} ${found.id}`} id={found.id ?? 0} />;
  if (missing.value !== page) return null;
  return (
    <Empty title="The page could not be loaded">
      The server was not reached, or was replaced by another version.{" "}
      <button type="button" class="button small" onClick={() => location.reload()}>
        Load it again
      </button>
    </Empty>
  );
}
