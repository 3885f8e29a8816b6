/**
 * Pictures of pages, in both themes, wide and narrow, of a server with work in progress:
 *
 *   npm run screenshots -- [OUT] [RUNS] [PATH...]
 *   npm run screenshots -- docs/images 100000 docs
 *
 * A path may name a run of the scene: /runs/{failed}. Without paths, every page of the list below is taken; "docs" takes the
 * pages shown in the README, under their file names there.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, openTab, type Theme } from "./browser.ts";
import { startScene } from "./scene.ts";

const PATHS = [
  "/",
  "/runs",
  "/runs?state=Failed",
  "/runs/{failed}",
  "/runs/{failed}?tab=logs",
  "/runs/{failed}?tab=tasks",
  "/runs/{failed}?tab=events",
  "/runs/{weather}?tab=graph",
  "/runs/{weather}?tab=artifacts",
  "/runs/{completed}?tab=input",
  "/runs/{waiting}",
  "/runs/{paused}",
  "/flows",
  "/flows/1",
  "/schedules?schedule=1",
  "/schedules?view=agenda",
  "/rules",
  "/rules/{rule}",
  "/events",
  "/queue",
  "/backfills",
  "/artifacts?artifact=3",
  "/variables",
  "/settings",
];
/** Pages of the README, by file name. */
const SHOWN: readonly (readonly [name: string, path: string, theme: Theme])[] = [
  ["overview", "/", "light"],
  ["runs", "/runs", "dark"],
  ["run", "/runs/{failed}", "light"],
  ["graph", "/runs/{weather}?tab=graph", "dark"],
  ["log", "/runs/{failed}?tab=logs", "dark"],
  ["artifacts", "/artifacts?artifact=3", "light"],
  ["queue", "/queue", "light"],
  ["events", "/events", "dark"],
];
const SIZES = [
  ["wide", 1440, 960],
  ["narrow", 390, 844],
] as const;
/** For data that is fetched after the page is complete. */
const SETTLED_MS = 1_500;

interface Picture {
  name: string;
  path: string;
  theme: Theme;
  width: number;
  height: number;
}

function nameOf(path: string): string {
  return path.replace(/[{}]/g, "").replace(/\W+/g, "-").replace(/^-|-$/g, "") || "overview";
}

function picturesOf(paths: readonly string[]): Picture[] {
  if (paths[0] === "docs") return SHOWN.map(([name, path, theme]) => ({ name, path, theme, width: 1190, height: 650 }));
  return (paths.length > 0 ? paths : PATHS).flatMap((path) =>
    (["light", "dark"] as const).flatMap((theme) =>
      SIZES.map(([size, width, height]) => ({ name: `${nameOf(path)}-${theme}-${size}`, path, theme, width, height })),
    ),
  );
}

const [out = "dist/screenshots", runs = "100000", ...paths] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const scene = await startScene({ runs: Number(runs) });
await scene.server.client.variables.set({ name: "erp/endpoint", value: "https://erp.example/v2", tags: ["shop"] });
await scene.server.client.variables.set({ name: "erp/token", value: "not shown", secret: true, tags: ["shop"] });
await scene.server.client.variables.set({ name: "weather/stations", value: ["alps", "coast"] });
const browser = await launch();
try {
  for (const { name, path, theme, width, height } of picturesOf(paths)) {
    const address = path.replace(/\{(\w+)\}/g, (_match, key: string) =>
      String((scene as unknown as Record<string, { id: number }>)[key]?.id),
    );
    const { page, context, complaints } = await openTab(browser, { theme, width, height });
    await page.goto(scene.server.url + address, { waitUntil: "load" });
    await page.locator("main h1").waitFor();
    await page.waitForTimeout(SETTLED_MS);
    await page.waitForFunction(() => document.querySelector(".loading, .stale") === null);
    await page.screenshot({ path: join(out, `${name}.png`) });
    if (complaints.length > 0) process.stderr.write(`${path}: ${complaints.join("; ")}\n`);
    await context.close();
  }
} finally {
  await browser.close();
  await scene.server.close();
}
