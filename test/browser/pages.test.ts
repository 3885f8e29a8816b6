/** Every page opens in both themes, complains of nothing, and can be used by everybody. */
import t from "tap";
import { violations } from "./accessibility.ts";
import { launch, openTab, type Theme } from "./browser.ts";
import { type Scene, startScene } from "./scene.ts";

/** Address and the heading that says it is there. A page that is added gets its line. */
const PAGES: readonly (readonly [address: (scene: Scene) => string, heading: (scene: Scene) => string])[] = [
  [() => "/", () => "flows are failing"],
  [() => "/flows", () => "Flows"],
  [({ failed }) => `/flows/${failed.flow_id}`, ({ failed }) => failed.flow_name],
  [() => "/schedules?schedule=1", () => "Schedules"],
  [() => "/schedules?view=agenda&new=flow", () => "Schedules"],
  [() => "/backfills", () => "Backfills"],
  [() => "/queue", () => "wait"],
  [() => "/events?event=5", () => "Events"],
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

t.test("pages", async (t) => {
  /** What says that a page has its data. */
  const CONTENT = ".panel > *, table.table, .empty, .strip, .calendar, .agenda-rows li, .run-form, .backfill-form, .rule-form";

  const scene = await startScene();
  const browser = await launch();
  t.teardown(async () => {
    await browser.close();
    await scene.server.close();
  });

  for (const theme of ["light", "dark"] as Theme[]) {
    for (const [address, heading] of PAGES) {
      t.test(`${address(scene)} in ${theme}`, async (t) => {
        const { page, context, complaints } = await openTab(browser, { theme });
        await page.goto(scene.server.url + address(scene));
        await page.getByRole("heading", { level: 1, name: heading(scene) }).waitFor();
        await page.locator(CONTENT).first().waitFor();
        t.same(await violations(page), []);
        t.same(complaints, []);
        await context.close();
      });
    }
  }

  t.test("no page scrolls sideways at 320 px", async (t) => {
    for (const [address, heading] of PAGES) {
      const { page, context } = await openTab(browser, { width: 320, height: 640 });
      await page.goto(scene.server.url + address(scene));
      await page.getByRole("heading", { level: 1, name: heading(scene) }).waitFor();
      await page.locator(CONTENT).first().waitFor();
      t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 320, address(scene));
      await context.close();
    }
  });
});
