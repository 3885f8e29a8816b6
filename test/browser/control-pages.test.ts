/** Queue and engines, rules, events and settings: the pages show the server's data, and their main tasks work by keyboard. */
import t from "tap";
import { browse } from "./browse.ts";
import { startScene } from "./scene.ts";

const scene = await startScene();
const { server, open } = await browse(t, scene.server);

t.test("the queue says what is held up and by whom; a reason is a filter, and a row opens by keys", async (t) => {
  const { page, context, complaints } = await open("/queue");
  await page.getByRole("heading", { level: 1, name: "2 runs wait for db-warehouse." }).waitFor();
  const resources = page.locator(".resources li").filter({ hasText: "db-warehouse" });
  await resources.getByText("2 wait", { exact: true }).waitFor();
  const holders = await resources.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  t.equal(holders.length, 2, "each unit has its holder");
  const row = page.getByRole("table", { name: "Queue" }).getByRole("row", { name: /2 of 2 taken; 1st in line/ });
  await row.waitFor();
  await page.getByRole("link", { name: /db-warehouse, 2 of 2 taken/ }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/why=resource\+db-warehouse/);
  await page.waitForFunction(() => document.querySelectorAll("table[aria-label=Queue] tr[data-index]").length === 2);
  await page.locator("main").focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${scene.waiting.id}`);
  t.same(complaints, []);
  await context.close();
});

t.test("the engines tell what they run, and a run is cancelled out of the queue", async (t) => {
  const extra = await server.run("export_orders_to_erp");
  await server.until(extra, "AwaitingResource");
  const { page, context } = await open("/queue");
  const { engines } = (await (await fetch(`${server.url}/api/server`)).json()) as { engines: { pid: number }[] };
  const table = page.getByRole("table", { name: "Engines" });
  for (const { pid } of engines) await table.getByText(String(pid), { exact: true }).waitFor();
  await page.getByRole("button", { name: `Cancel\u2026 ${extra.name}` }).click();
  await page.getByRole("button", { name: "Cancel 1 run" }).click();
  await page.getByRole("button", { name: `Cancel\u2026 ${extra.name}` }).waitFor({ state: "detached" });
  await server.until(extra, "Cancelled");
  t.equal((await server.client.runs.get(extra.id)).state.type, "Cancelled");
  await context.close();
});

t.test("an engine with many runs lists four of them, and the others on request", async (t) => {
  const more = await Promise.all(Array.from({ length: 40 }, () => server.run(scene.running.flow_name)));
  for (const run of more) await server.until(run, "Running");
  const { page, context, complaints } = await open("/queue");
  const table = page.getByRole("table", { name: "Engines" });
  const button = table.getByRole("button", { name: /^Show \d+ more runs? of engine/ }).first();
  const pid = Number(/\d+$/.exec((await button.textContent()) ?? "")?.[0]);
  const { engines } = (await (await fetch(`${server.url}/api/server`)).json()) as { engines: { id: string; pid: number }[] };
  const queue = (await (await fetch(`${server.url}/api/queue`)).json()) as { engines: { id: string; run_ids: number[] }[] };
  const runIds = queue.engines.find(({ id }) => id === engines.find((engine) => engine.pid === pid)?.id)?.run_ids ?? [];
  t.equal(await button.textContent(), `Show ${runIds.length - 4} more run${runIds.length === 5 ? "" : "s"} of engine ${pid}`);
  const links = runIds.map((id) => table.locator(`a[href="/runs/${id}"]`));
  t.same(await Promise.all(links.map((link) => link.count())), [1, 1, 1, 1, ...Array(runIds.length - 4).fill(0)]);
  await button.click();
  for (const link of links) await link.waitFor();
  await table
    .getByRole("row", { name: /sync_product_catalogue/ })
    .first()
    .waitFor();
  t.same(complaints, []);
  await Promise.all(more.map(({ id }) => server.client.runs.cancel(id)));
  await Promise.all(more.map((run) => server.until(run, "Cancelled")));
  await context.close();
});

t.test("a rule is made by the form; a name that nothing emits is told at its field with the nearest that is", async (t) => {
  const before = (await server.client.rules.list()).length;
  const { page, context, complaints } = await open("/rules");
  await page.getByRole("table", { name: "Rules" }).waitFor();
  await page.keyboard.press("n");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Embedding is down");
  const events = page.getByRole("combobox", { name: "When: events" });
  await events.fill("run.faild");
  await events.press("Enter");
  await page.getByRole("combobox", { name: "Add an action" }).selectOption("webhook");
  await page.getByRole("textbox", { name: "Action 1: body" }).fill('{ "text": "{{ run.name }}: {{ event.payload.message }}" }');
  await page.getByRole("button", { name: "Make rule" }).click();
  const clause = page.getByRole("group", { name: "Do" });
  await clause.getByRole("alert").getByText("webhook needs a url").waitFor();
  await page.getByRole("textbox", { name: "Action 1: address" }).fill("https://chat.intern.example/hooks/ops");
  await page.getByRole("button", { name: "Make rule" }).click();
  const when = page.getByRole("group", { name: "When" });
  await when
    .getByRole("alert")
    .getByText(/nothing emits it/)
    .waitFor();
  t.equal((await server.client.rules.list()).length, before, "nothing was made");
  await when.getByRole("button", { name: "Use run.failed" }).click();
  await page.getByRole("textbox", { name: "Quiet for" }).fill("soon");
  await page.getByRole("button", { name: "Make rule" }).click();
  await page
    .getByRole("group", { name: "Guards" })
    .getByRole("alert")
    .getByText(/expected a length such as/)
    .waitFor();
  await page.getByRole("textbox", { name: "Quiet for" }).fill("30 min");
  await page.getByRole("button", { name: "Make rule" }).click();
  await page.waitForURL(/\/rules\/\d+$/);
  t.match(
    (await server.client.rules.list()).find(({ name }) => name === "Embedding is down"),
    {
      ...{ enabled: true, cooldown_seconds: 1_800, once: "per_run" },
      when: { events: ["run.failed"] },
      do: [{ kind: "webhook", url: "https://chat.intern.example/hooks/ops" }],
    },
  );
  t.same(
    complaints.filter((text) => !text.includes("422")),
    [],
  );
  await context.close();
});

t.test("a rule is tried with an event without doing anything, switched off, edited as JSON and deleted", async (t) => {
  const rule = (await server.client.rules.list()).find(({ name }) => name === "Embedding is down");
  const { page, context, complaints } = await open(`/rules/${rule?.id}`);
  await page.getByRole("heading", { level: 1, name: "Embedding is down" }).waitFor();
  await page.getByRole("button", { name: "Test", exact: true }).click();
  const result = page.locator(".rule-test");
  await result.getByText("It would have fired.").waitFor();
  await result.getByText(/POST https:\/\/chat\.intern\.example\/hooks\/ops/).waitFor();
  const { items } = await server.client.events.list({ name: "run.completed" }, { pageSize: 1 }).page();
  await page.goto(`${server.url}/rules/${rule?.id}?event=${items[0]?.id}`);
  await page.getByRole("button", { name: "Test", exact: true }).click();
  await result.getByText("It would not have fired.").waitFor();
  await result.getByText("the rule is not for this event and would not fire").waitFor();
  t.equal((await server.client.rules.get(rule?.id ?? 0)).fire_count, 0);

  await page.getByRole("switch", { name: "Embedding is down fires" }).press("Space");
  await page.getByText("is off: it does not fire").waitFor();
  t.equal((await server.client.rules.get(rule?.id ?? 0)).enabled, false);

  await page.getByRole("button", { name: "JSON" }).click();
  const json = page.getByRole("textbox", { name: "The rule as JSON" });
  const body = JSON.parse(await json.inputValue()) as Record<string, unknown>;
  await json.fill(JSON.stringify({ ...body, name: "Feed down", when: { events: ["run.failed", "run.crashed"] } }));
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { level: 1, name: "Feed down" }).waitFor();
  t.match(await server.client.rules.get(rule?.id ?? 0), {
    name: "Feed down",
    when: { events: ["run.failed", "run.crashed"] },
    cooldown_seconds: 1_800,
  });
  await json.fill("{");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("this is not a JSON object").waitFor();

  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.waitForURL(/\/rules$/);
  await page.getByRole("table", { name: "Rules" }).waitFor();
  await page.getByRole("link", { name: "Feed down", exact: true }).waitFor({ state: "detached" });
  t.equal((await server.client.rules.get(rule?.id ?? 0)).name, "Feed down", "it can be undone until its message ends");
  await page.getByRole("button", { name: "Close message" }).last().click();
  await page.waitForFunction(async (path) => (await fetch(path)).status === 404, `/api/rules/${rule?.id}`);
  t.same(
    complaints.filter((text) => !text.includes("404")),
    [],
  );
  await context.close();
});

t.test("events come live, wait while the feed is paused, and are filtered, opened and made into a rule", async (t) => {
  // Other events in the same period are not counted.
  await server.client.events.emit({ name: "shop.opened" });
  const { page, context, complaints } = await open("/events?name=shop.*");
  const table = page.getByRole("table", { name: "Events" });
  await table.getByRole("row").nth(1).waitFor();
  await server.client.events.emit({ name: "shop.price.changed", payload: { article: "tea", price: 4.2 } });
  await table.getByRole("row", { name: /shop\.price\.changed.*article tea; price 4\.2/ }).waitFor();
  await page.locator("main").focus();
  await page.keyboard.press("p");
  await page.getByText("the feed is paused").waitFor();
  for (const price of [4.3, 4.4])
    await server.client.events.emit({ name: "shop.price.changed", payload: { article: "tea", price } });
  await page.getByRole("button", { name: /2 new events above/ }).waitFor();
  t.equal(await table.getByRole("row", { name: /shop\.price\.changed/ }).count(), 1);
  await page.keyboard.press(".");
  await table.getByRole("row", { name: /price 4\.4/ }).waitFor();
  t.equal(await table.getByRole("row", { name: /shop\.price\.changed/ }).count(), 3, "none lost, none twice");
  await page.keyboard.press("/");
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("run.fail*");
  await page.waitForURL(/name=run\.fail/);
  await page.waitForFunction(() => {
    const names = [...document.querySelectorAll("tr[data-index] .event-name")].map((cell) => cell.textContent);
    return names.length > 0 && names.every((name) => name?.includes("run.failed"));
  });
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/event=\d+/);
  const detail = page.getByRole("complementary", { name: "The chosen event" });
  await detail.getByText("Raised, timed out, or was set failed.").waitFor();
  const [link] = await detail.getByRole("link").evaluateAll((links) => links.map((each) => each.getAttribute("href") ?? ""));
  t.match(link, /^\/runs\/\d+$/);
  await detail.getByRole("link", { name: "Make a rule from this" }).click();
  await page.waitForURL(/\/rules\?new=rule&event=run\.failed/);
  await page.getByRole("button", { name: "Take away run.failed" }).waitFor();
  t.same(complaints, []);
  await context.close();
});

t.test("a list of many events is paged as it is walked, and an event that is gone is told as such", async () => {
  await Promise.all(
    Array.from({ length: 150 }, (_, index) => server.client.events.emit({ name: "load.step", payload: { index } })),
  );
  const { page, context } = await open("/events?name=load.*");
  await page.locator("tr[data-index='0']").waitFor();
  await page.waitForFunction(() => {
    window.scrollTo(0, document.body.scrollHeight);
    return document.querySelector("tr[data-index='149']") !== null;
  });
  await page.getByText("150 in all").waitFor();
  await page.goto(`${server.url}/events?event=999999`);
  await page.getByText("There is no event 999999").waitFor();
  await context.close();
});

t.test("settings are changed where they can be, and what cannot be is said at its field", async (t) => {
  const { page, context, complaints } = await open("/settings");
  const days = page.getByRole("textbox", { name: "Keep history for" });
  await days.fill("many");
  await page.keyboard.press("Enter");
  await page
    .getByRole("alert")
    .getByText(/retain_days/)
    .waitFor();
  t.equal(await days.getAttribute("aria-invalid"), "true");
  await days.fill("14");
  await page.getByRole("textbox", { name: "db-warehouse" }).fill("3");
  await page.getByRole("textbox", { name: "Name of a new resource" }).fill("gpu");
  await page.keyboard.press("Enter");
  await page.getByText("Settings changed.").waitFor();
  const settings = (await (await fetch(`${server.url}/api/settings`)).json()) as { retain_days: number; resources: object };
  t.match(settings, { retain_days: 14, resources: { "db-warehouse": { total: 3 }, gpu: { total: 1 } } });
  await page.getByRole("textbox", { name: "gpu" }).waitFor();
  const table = page.getByRole("table", { name: "Actors" });
  const actors = (await (await fetch(`${server.url}/api/actors`)).json()) as { name: string }[];
  for (const { name } of actors) await table.getByText(name, { exact: true }).waitFor();
  await page.getByRole("button", { name: "Dark" }).click();
  t.equal(await page.evaluate(() => document.documentElement.dataset["theme"]), "dark");
  await page.getByRole("button", { name: "As the system" }).click();
  t.equal(await page.evaluate(() => document.documentElement.dataset["theme"]), undefined);
  await page.getByRole("button", { name: "UTC", exact: true }).click();
  await page.getByText("none is kept: the server did not ask for one").waitFor();
  t.same(
    complaints.filter((text) => !text.includes("422")),
    [],
  );
  await context.close();
});
