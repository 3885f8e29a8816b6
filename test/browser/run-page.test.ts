/** The page of a run: timeline and brush, docked log, graph, retry, and answering. */
import t from "tap";
import { browse } from "./browse.ts";

const { server, open } = await browse(t);

/** The run of the page. */
async function runAt(url: string) {
  return server.client.runs.get(Number(/\/runs\/(\d+)/.exec(url)?.[1]));
}

const failed = await server.run("ingest_station_observations", { count: 40 });
const weather = await server.run("weather-report", { flights: "5k" });
await server.until(failed, "Failed");
await server.until(weather, "Completed");

t.test("the attempts of a task stand in one row, what went wrong first", async (t) => {
  const { page, context, complaints } = await open(`/runs/${failed.id}`);
  const rows = page.locator(".timeline li");
  await page.getByText("5 rows for 80 tasks: what is alike is folded").waitFor();
  t.equal(await rows.count(), 5);
  // Two attempts of the run, each with two attempts of the task.
  const bars = rows.first().locator(".timeline-bars i");
  t.equal(await bars.count(), 4);
  t.equal(await rows.first().locator("i.earlier").count(), 3);
  t.equal(await rows.first().locator("i.cap").count(), 1);
  await page.keyboard.press("f");
  await page.getByText("4 rows for 80 tasks", { exact: true }).waitFor();
  t.same(complaints, []);
  await context.close();
});

t.test("the use of a run's time: each stage in words and in the bar, and those of the flow's newest runs", async (t) => {
  const timing = await server.client.runs.timing(failed.id);
  const due = timing.stages.filter(({ stage }) => stage !== "not_due");
  const { page, context, complaints } = await open(`/runs/${failed.id}`);
  await page.locator(".life i").first().waitFor();
  // The state that the run ended in follows its stages.
  t.equal(await page.locator(".life i").count(), due.length + 1);
  t.equal(await page.locator(".life i.works").count(), due.filter(({ stage }) => stage === "running").length);
  const words = await page.locator(".life-words").innerText();
  t.match(words, /from creation to end/);
  t.match(words, /worked in 2 attempts/);
  t.match(words, /waited for the next attempt/);
  // A stage without length is left out: the end may be stored within the millisecond of its report.
  t.equal(
    words.includes("to store its end"),
    due.some(({ stage }) => stage === "publishing"),
  );
  await page.goto(`${server.url}/flows/${failed.flow_id}`);
  const stages = page.getByRole("table").filter({ hasText: "from creation to end" });
  await stages.getByRole("rowheader", { name: "worked" }).waitFor();
  const shown = await stages.getByRole("rowheader").allInnerTexts();
  const { stages: known } = await server.client.flows.timing(failed.flow_id);
  t.equal(shown.length, known.length + 1);
  t.same(complaints, []);
  await context.close();
});

t.test("an ended run shows what it waited for, with the runs that were in its way", async (t) => {
  const holder = await server.run("build_regional_summary", { day: "2026-01-31" });
  await server.until(holder, "Running");
  const held = await server.run("build_regional_summary", { day: "2026-02-01" });
  await server.until(held, "AwaitingResource");
  const { page, context, complaints } = await open(`/runs/${held.id}`);
  const waits = page.locator("details.past-waits");
  await page
    .getByText(/^Waits for|^It waits for|Held by/)
    .first()
    .waitFor();
  t.equal(await waits.count(), 0, "a run that waits shows why it waits now");
  await server.client.runs.cancel(held.id);
  const entry = waits.getByRole("listitem").filter({ hasText: "held when the wait began" });
  await entry.waitFor();
  const [wait] = (await server.client.runs.waited(held.id)).filter(({ stage }) => stage === "blocked");
  t.match(await entry.innerText(), wait?.text.slice(1));
  t.equal(await entry.getByRole("link").getAttribute("href"), `/runs/${holder.id}`);
  t.equal(await entry.getByRole("link").innerText(), `${holder.name} #${holder.id}`);
  await server.client.runs.cancel(holder.id);
  await page.goto(`${server.url}/runs/${failed.id}`);
  await waits.getByText(/^What it waited for: \d+ waits?/).waitFor();
  t.equal(await waits.getByRole("listitem").first().isVisible(), false, "closed for a run that started");
  await waits.locator("summary").click();
  await waits.getByText("It waited for its next attempt.").waitFor();
  t.same(complaints, []);
  await context.close();
});

t.test("the brush is worked by keys and by dragging, and the part is in the address", async (t) => {
  const { page, context } = await open(`/runs/${failed.id}`);
  const from = page.getByRole("slider", { name: /^From/ });
  await from.focus();
  for (let times = 0; times < 10; times += 1) await page.keyboard.press("ArrowRight");
  await page.waitForURL(/span=\d+-\d+/);
  t.equal(await from.getAttribute("aria-valuenow"), "20");
  await page.reload();
  await page.getByRole("button", { name: "The whole run" }).click();
  await page.waitForURL((url) => !url.search.includes("span"));
  const strip = await page.locator(".brush").boundingBox();
  if (strip === null) throw new Error("no brush");
  await page.mouse.move(strip.x + strip.width * 0.3, strip.y + 10);
  await page.mouse.down();
  await page.mouse.move(strip.x + strip.width * 0.6, strip.y + 10);
  await page.mouse.up();
  await page.waitForURL(/span=\d+-\d+/);
  t.equal(await from.getAttribute("aria-valuenow"), "30");
  await context.close();
});

t.test("the log and the tasks by name are docked where there is room", async (t) => {
  const { page, context } = await open(`/runs/${failed.id}`);
  await page.getByRole("heading", { name: "Log" }).waitFor();
  await page.getByRole("region", { name: "Lines" }).locator("li").first().waitFor();
  await page.getByRole("heading", { name: "Tasks by name" }).waitFor();
  await page.setViewportSize({ width: 800, height: 900 });
  await page.getByRole("heading", { name: "Log" }).waitFor({ state: "detached" });
  t.equal(await page.getByRole("heading", { name: "Tasks by name" }).count(), 0);
  await context.close();
});

t.test("the graph is loaded when its tab is opened, and its boxes lead to the tasks", async (t) => {
  const { page, context, complaints } = await open(`/runs/${weather.id}`);
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await page.locator(".timeline li").first().waitFor();
  t.notOk(loaded.some((path) => /graph|layout-worker/.test(path)));
  await page.getByRole("link", { name: "Graph" }).click();
  await page.locator(".graph-box").first().waitFor();
  t.ok(loaded.some((path) => path.includes("layout-worker")));
  const tasks = await (await fetch(`${server.url}/api/runs/${weather.id}/tasks`)).json();
  t.equal(await page.locator(".graph-box").count(), (tasks as unknown[]).length);
  t.ok((await page.locator(".graph-plane path").count()) > 5);
  await page.getByRole("link", { name: /publish/ }).click();
  await page.getByRole("table", { name: "Tasks" }).getByText("publish-0").waitFor();
  t.same(complaints, []);
  await context.close();
});

t.test("a run is run again as it was, and with edited parameters", async (t) => {
  const { page, context } = await open(`/runs/${failed.id}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.keyboard.press("r");
  await page.getByRole("button", { name: "Run again", exact: true }).and(page.locator(":focus")).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => /\/runs\/\d+$/.test(url.pathname) && !url.pathname.endsWith(`/${failed.id}`));
  const same = await runAt(page.url());
  t.match(same, { parent_run_id: failed.id, parameters: { count: 40 } });
  await server.until(same, "Failed");
  await page.getByRole("button", { name: /Run again/ }).click();
  const field = page.getByRole("dialog").getByRole("textbox", { name: "count" });
  await field.fill("no number");
  await page.getByRole("button", { name: "Run with these" }).click();
  await page
    .getByRole("alert")
    .getByText(/parameter "count": expected/)
    .waitFor();
  await field.fill("3");
  await page.getByRole("button", { name: "Run with these" }).click();
  await page.waitForURL((url) => /\/runs\/\d+$/.test(url.pathname) && !url.pathname.endsWith(`/${same.id}`));
  t.match(await runAt(page.url()), { parameters: { count: 3 }, tags: ["hourly"] });
  await context.close();
});

t.test("the page of a durable run links its caller and its child runs, with their names and states", async (t) => {
  const { page, context, complaints } = await open("/runs");
  await page.route(`**/api/runs/${weather.id}`, async (route) => {
    const response = await route.fetch();
    const run = (await response.json()) as object;
    await route.fulfill({ response, json: { ...run, lineage_id: weather.id, caller_run_id: failed.id } });
  });
  const waits = [{ kind: "sleep" }, { kind: "child", child_run_id: failed.id }, { kind: "child", child_run_id: failed.id }];
  await page.route(`**/api/runs/${weather.id}/waits?*`, (route) => route.fulfill({ json: { items: waits, next_cursor: null } }));
  await page.goto(`${server.url}/runs/${weather.id}`);
  for (const name of ["Called by", "Child runs"]) {
    const fact = page.locator(".facts div").filter({ hasText: name });
    const link = fact.getByRole("link", { name: `${failed.name} #${failed.id}` });
    await link.waitFor();
    t.equal(await link.count(), 1, name);
    t.equal(await link.getAttribute("href"), `/runs/${failed.id}`);
    await fact.getByText("Failed", { exact: true }).waitFor({ state: "attached" });
  }
  t.same(complaints, []);
  await context.close();
});

t.test("the runs that a durable run has called stand in its graph, and as a tree that opens below each", async (t) => {
  const { page, context, complaints } = await open("/runs");
  const lineageOf = (id: number) =>
    page.route(`**/api/runs/${id}`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), lineage_id: id } });
    });
  await lineageOf(weather.id);
  await lineageOf(failed.id);
  const below = await server.run("weather-report", { flights: "5k" });
  await server.until(below, "Completed");
  for (const [from, to] of [
    [weather, failed],
    [failed, below],
  ] as const) {
    const items = [{ kind: "sleep" }, { kind: "child", child_run_id: to.id }];
    await page.route(`**/api/runs/${from.id}/waits?*`, (route) => route.fulfill({ json: { items, next_cursor: null } }));
  }
  await page.goto(`${server.url}/runs/${weather.id}?tab=graph`);
  const box = page.locator(".graph-box.called");
  await box.filter({ hasText: `ingest_station_observations #${failed.id}` }).waitFor();
  t.equal(await box.count(), 1);
  t.equal(await box.getAttribute("href"), `/runs/${failed.id}`);
  t.match(await box.getAttribute("title"), /Failed$/);
  const { nodes } = await server.client.runs.graph(weather.id);
  t.equal(await page.locator(".graph-box").count(), nodes.length + 1, "beside the boxes of its tasks");
  await page.getByRole("link", { name: "1 child run" }).click();
  const tree = page.locator(".panel .run-tree").first();
  await tree.getByRole("link", { name: `${failed.name} #${failed.id}` }).waitFor();
  t.equal(await tree.getByRole("link", { name: `#${below.id}` }).count(), 0, "not read before it is opened");
  await tree.getByText("Runs that it called").first().click();
  await tree.getByRole("link", { name: `${below.name} #${below.id}` }).waitFor();
  t.same(complaints, []);
  await context.close();
});

t.test("a question with a schema is answered by its form", async (t) => {
  const run = await server.run("approve_invoices");
  await server.until(run, "Paused");
  const { page, context, complaints } = await open(`/runs/${run.id}`);
  await page.getByText("Send 3 invoices?").waitFor();
  await page.getByLabel(/^send/).selectOption("true");
  await page.getByLabel(/^note/).fill("by the new printer");
  await page.getByRole("button", { name: "Answer" }).click();
  await server.until(run, "Completed");
  t.match((await server.client.runs.get(run.id)).state.details, { result: { send: true, note: "by the new printer" } });
  await page.getByRole("link", { name: "Input" }).click();
  await page.getByText("by the new printer").first().waitFor();
  t.same(complaints, []);
  await context.close();
});
