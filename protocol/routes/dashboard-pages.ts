/**
 * The addresses of the dashboard's pages. The gateway answers these with the dashboard's document, and any other path outside
 * the API with 404; the dashboard shows the page, or that there is none.
 */
export const DASHBOARD_PAGES = {
  overview: "/",
  runs: "/runs",
  run: "/runs/{id}",
  flows: "/flows",
  flow: "/flows/{id}",
  schedules: "/schedules",
  rules: "/rules",
  rule: "/rules/{id}",
  events: "/events",
  logs: "/logs",
  queue: "/queue",
  backfills: "/backfills",
  backfill: "/backfills/{id}",
  artifacts: "/artifacts",
  variables: "/variables",
  settings: "/settings",
} as const;

export type DashboardPage = keyof typeof DASHBOARD_PAGES;

/** The page at a path, with the id if the path has one. */
export interface PageAddress {
  page: DashboardPage;
  id: number | null;
}

const ADDRESSES = Object.entries(DASHBOARD_PAGES) as [DashboardPage, string][];
/** The most digits of an id. */
const ID = /^\d{1,16}$/;

/** The page at a path (without its query), or null. A trailing slash is ignored. */
export function pageAt(path: string): PageAddress | null {
  const plain = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  const slash = plain.lastIndexOf("/");
  const last = plain.slice(slash + 1);
  const numbered = ID.test(last);
  const wanted = numbered ? `${plain.slice(0, slash)}/{id}` : plain;
  const found = ADDRESSES.find(([, address]) => address === wanted && address.includes("{id}") === numbered);
  return found === undefined ? null : { page: found[0], id: numbered ? Number(last) : null };
}

/** The path of a page. */
export function pagePath(page: DashboardPage, id: number | null = null): string {
  return DASHBOARD_PAGES[page].replace("{id}", String(id));
}
