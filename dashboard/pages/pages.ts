/**
 * The pages: the entries of the rail, and the module for each address. A page is loaded when it is opened. README.md describes
 * how to add one.
 */
import type { ComponentType } from "preact";
import type { DashboardPage } from "#protocol/routes/dashboard-pages";

/** The props of a page: the id of its address, 0 without one. */
export interface PageProps {
  id: number;
}

export interface PageModule {
  Page: ComponentType<PageProps>;
}

export const PAGES: Record<DashboardPage, () => Promise<PageModule>> = {
  flows: () => import("./flows/flows-page.tsx"),
  flow: () => import("./flows/flow-page.tsx"),
  backfills: () => import("./backfills/backfills-page.tsx"),
  backfill: () => import("./backfills/backfill-page.tsx"),
  overview: () => import("./overview/overview-page.tsx"),
  queue: () => import("./queue/queue-page.tsx"),
  events: () => import("./events/events-page.tsx"),
  logs: () => import("./logs/logs-page.tsx"),
  rules: () => import("./rules/rules-page.tsx"),
  rule: () => import("./rules/rule-page.tsx"),
  settings: () => import("./settings/settings-page.tsx"),
  schedules: () => import("./schedules/schedules-page.tsx"),
  runs: () => import("./runs/runs-page.tsx"),
  run: () => import("./run/run-page.tsx"),
  artifacts: () => import("./artifacts/artifacts-page.tsx"),
  variables: () => import("./variables/variables-page.tsx"),
};

export interface RailEntry {
  page: DashboardPage;
  name: string;
  /** The key after `g`. */
  key: string;
}

/** The entries, in groups. */
export const RAIL: readonly (readonly RailEntry[])[] = [
  [
    { page: "overview", name: "Overview", key: "o" },
    { page: "runs", name: "Runs", key: "r" },
    { page: "flows", name: "Flows", key: "f" },
    { page: "schedules", name: "Schedules", key: "s" },
    { page: "rules", name: "Rules", key: "u" },
    { page: "events", name: "Events", key: "e" },
    { page: "logs", name: "Logs", key: "l" },
    { page: "queue", name: "Queue and engines", key: "q" },
    { page: "backfills", name: "Backfills", key: "b" },
  ],
  [
    { page: "artifacts", name: "Artifacts", key: "a" },
    { page: "variables", name: "Variables", key: "v" },
    { page: "settings", name: "Settings", key: "," },
  ],
];
