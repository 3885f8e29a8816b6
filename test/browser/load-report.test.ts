/** The report of the load generator as a user opens it: one file, without a server. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import t from "tap";
import { renderHtml } from "../load/report/report-html.ts";
import { sampleReport } from "../support/load-report.ts";
import { launch, openTab } from "./browser.ts";

const browser = await launch();
t.teardown(() => browser.close());

t.test("the report draws its charts from the file alone, in both themes", async (t) => {
  const file = join(t.testdir(), "report.html");
  writeFileSync(file, renderHtml(sampleReport()));
  for (const theme of ["light", "dark"] as const) {
    const { page, context, complaints } = await openTab(browser, { theme });
    const requested: string[] = [];
    page.on("request", (request) => requested.push(request.url()));
    await page.goto(pathToFileURL(file).href);
    t.same(requested, [pathToFileURL(file).href], "nothing else is loaded");
    t.equal(await page.locator(".charts canvas").count(), 4);
    t.same(await page.locator(".u-title").allTextContents(), [
      "Ended per second",
      "Processor time of each process",
      "Memory of each process",
      "Latency: create",
    ]);
    // A canvas on which nothing was drawn is transparent everywhere.
    const drawn = await page.locator(".charts canvas").evaluateAll((canvases) =>
      canvases.map((canvas) => {
        const { width, height } = canvas as HTMLCanvasElement;
        const pixels = (canvas as HTMLCanvasElement).getContext("2d")?.getImageData(0, 0, width, height).data ?? [];
        return pixels.some((value) => value > 0);
      }),
    );
    t.same(drawn, [true, true, true, true]);
    t.same(await page.locator("tbody tr").first().locator("td").allTextContents(), [
      ...["runs", "runs/s", "2", "1.76 - 2.26", "2,000", "1,900 - 2,100", "1,000", "1,000 - 1,000"],
    ]);
    t.same(complaints, []);
    await context.close();
  }
});
