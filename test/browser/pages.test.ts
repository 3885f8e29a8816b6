/** Every page opens without errors and is accessible: in both themes, and in a narrow window. */
import t from "tap";
import { violations, violationsOfColours } from "./accessibility.ts";
import { browse } from "./browse.ts";
import { openTab } from "./browser.ts";
import { type Scene, startScene } from "./scene.ts";

/** Address, and the heading that shows that the page is open. Each new page gets a line. */
const PAGES: readonly (readonly [address: (scene: Scene) => string, heading: (scene: Scene) => string])[] = [
  [() => "/", () => "flows are failing"],
  [() => "/flows", () => "Flows"],
  [({ failed }) => `/flows/${failed.flow_id}`, ({ failed }) => failed.flow_name],
  [() => "/schedules?schedule=1", () => "Schedules"],
  [() => "/schedules?view=agenda&new=flow", () => "Schedules"],
  [() => "/backfills", () => "Backfills"],
  [() => "/queue", () => "wait"],
  [() => "/events?event=5", () => "Events"],
  [() => "/logs", () => "Logs"],
  [() => "/logs?q=nothing+has+this", () => "Logs"],
  [() => "/settings", () => "Settings"],
  [() => "/rules?new=rule", () => "Rules"],
  [({ rule }) => `/rules/${rule.id}`, ({ rule }) => rule.name],
  [() => "/runs", () => "Runs"],
  [() => "/runs?state=Nothing", () => "Runs"],
  [({ failed }) => `/runs/${failed.id}`, ({ failed }) => failed.name],
  [({ failed }) => `/runs/${failed.id}?tab=logs`, ({ failed }) => failed.name],
  [({ failed }) => `/runs/${failed.id}?tab=tasks`, ({ failed }) => failed.name],
  [({ failed }) => `/runs/${failed.id}?tab=events`, ({ failed }) => failed.name],
  [({ weather }) => `/runs/${weather.id}?tab=graph`, ({ weather }) => weather.name],
  [({ weather }) => `/runs/${weather.id}?tab=artifacts`, ({ weather }) => weather.name],
  [({ completed }) => `/runs/${completed.id}?tab=input`, ({ completed }) => completed.name],
  [({ waiting }) => `/runs/${waiting.id}`, ({ waiting }) => waiting.name],
  [({ paused }) => `/runs/${paused.id}`, ({ paused }) => paused.name],
  [() => "/artifacts", () => "Artifacts"],
  [() => "/artifacts?key=stock&artifact=1", () => "History of stock"],
  [() => "/variables", () => "Variables"],
  [() => "/variables?new=variable", () => "Variables"],
];

/** Selector that shows that a page has its data. */
const CONTENT = ".panel > *, table.table, .empty, .strip, .calendar, .agenda-rows li, .run-form, .backfill-form, .rule-form";

const scene = await startScene();
const { browser } = await browse(t, scene.server);
// One tab for all: each page is re-read, its scripts come from the cache.
const { page, complaints } = await openTab(browser, { theme: "light" });

function rowsBeginWithTheirName(): boolean {
  return [...document.querySelectorAll("tr[data-index]")].every((row) => {
    const left = (part: string) => row.querySelector(part)?.getBoundingClientRect().left;
    return (left(".at-start") ?? 0) <= (left(".at-end") ?? Number.POSITIVE_INFINITY);
  });
}

for (const [address, heading] of PAGES) {
  t.test(address(scene), async (t) => {
    complaints.length = 0;
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1440, height: 960 });
    await page.goto(scene.server.url + address(scene));
    await page.getByRole("heading", { level: 1, name: heading(scene) }).waitFor();
    await page.locator(CONTENT).first().waitFor();
    t.same(await violations(page), []);
    await page.emulateMedia({ colorScheme: "dark" });
    t.same(await violationsOfColours(page), [], "in dark");
    await page.setViewportSize({ width: 320, height: 640 });
    // Wait two frames, so that elements that measure themselves are drawn again.
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, "it does not scroll sideways at 320 px");
    t.ok(await page.evaluate(rowsBeginWithTheirName), "rows begin with what they are called");
    t.same(complaints, []);
  });
}
