/**
 * Pictures of pages, in both themes, wide and narrow, of a server in the middle of its work:
 *
 *   node --conditions=millrace-src test/browser/screenshots.ts OUT [RUNS] [PATH...]
 *
 * A path may name a run of the scene: /runs/{failed}. Without paths every page of the list below is taken.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launch, openTab, type Theme } from "./browser.ts";
import { startScene } from "./scene.ts";

const PATHS = [
  "/runs",
  "/runs/{failed}",
  "/runs/{failed}?tab=logs",
  "/runs/{failed}?tab=tasks",
  "/runs/{weather}?tab=artifacts",
  "/runs/{waiting}",
  "/runs/{paused}",
];
const SIZES = [
  ["wide", 1440, 960],
  ["narrow", 390, 844],
] as const;
const SETTLED_MS = 1_200;

const [out = "screenshots", runs = "100000", ...paths] = process.argv.slice(2);
mkdirSync(out, { recursive: true });
const scene = await startScene({ runs: Number(runs) });
const browser = await launch();
try {
  for (const path of paths.length > 0 ? paths : PATHS) {
    const address = path.replace(/\{(\w+)\}/g, (_match, name: string) =>
      String((scene as unknown as Record<string, { id: number }>)[name]?.id),
    );
    for (const theme of ["light", "dark"] as Theme[])
      for (const [size, width, height] of SIZES) {
        const { page, context, complaints } = await openTab(browser, { theme, width, height });
        await page.goto(scene.server.url + address, { waitUntil: "load" });
        await page.waitForTimeout(SETTLED_MS);
        const name = path.replace(/[{}]/g, "").replace(/\W+/g, "-").replace(/^-|-$/g, "") || "overview";
        await page.screenshot({ path: join(out, `${name}-${theme}-${size}.png`) });
        if (complaints.length > 0) process.stderr.write(`${path}: ${complaints.join("; ")}\n`);
        await context.close();
      }
  }
} finally {
  await browser.close();
  await scene.server.close();
}
