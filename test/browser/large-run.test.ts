/** Runs of ten thousand tasks and of a hundred thousand log lines: drawing and requests are bounded. */
import t from "tap";
import type { Run } from "#sdk/client/index";
import { browse } from "./browse.ts";
import { openTab } from "./browser.ts";

const TASKS = 10_000;
const LINES = 100_000;
/** Drawn elements of a list: the visible rows, and some around them. */
const ROWS_MAX = 100;

const { server, browser } = await browse(t);

/** A page, with all its requests from the start. */
async function openCounted(path: string) {
  const tab = await openTab(browser);
  const requests: string[] = [];
  tab.page.on("request", (request) => requests.push(request.url().slice(server.url.length)));
  await tab.page.goto(server.url + path);
  return { ...tab, requests };
}

/** The first request for a run's tasks, which are read page by page. */
const firstPage = (run: number): string => `/api/runs/${run}/tasks?limit=500&after=0`;

// Each run is watched while it goes on, and read by the next test after its end.
let tasks: Run;
let lines: Run;

t.test("ten thousand tasks while they run: one request, then the stream", async (t) => {
  tasks = await server.run("many_tasks", { count: TASKS });
  const { page, context, complaints, requests } = await openCounted(`/runs/${tasks.id}?tab=tasks`);
  await server.until(tasks, "Completed");
  const table = page.getByRole("table", { name: "Tasks" });
  await page.waitForFunction(
    (count) => document.querySelector("table.table")?.getAttribute("aria-rowcount") === String(count + 1),
    TASKS,
  );
  await page.waitForFunction(() =>
    [...document.querySelectorAll("tr[data-index] .state")].every((mark) => mark.textContent === "Completed"),
  );
  t.ok((await table.locator("tr[data-index]").count()) < ROWS_MAX);
  // Re-read only where the stream had a gap.
  const reads = requests.filter((path) => path.startsWith(firstPage(tasks.id))).length;
  t.ok(reads > 0 && reads < 20, `bounded by resyncs, not by tasks: ${reads}`);
  t.same(complaints, []);
  await context.close();
});

t.test("ten thousand tasks", async (t) => {
  const { page, context, complaints, requests } = await openCounted(`/runs/${tasks.id}`);
  await page.getByText("1 row for 10,000 tasks: what is alike is folded").waitFor();
  t.ok((await page.locator(".timeline li").count()) < ROWS_MAX);
  await page.getByRole("link", { name: /^Tasks/ }).click();
  const table = page.getByRole("table", { name: "Tasks" });
  await table.getByText("step-0", { exact: true }).waitFor();
  t.equal(await table.getAttribute("aria-rowcount"), String(TASKS + 1));
  t.ok((await table.locator("tr[data-index]").count()) < ROWS_MAX);
  await page.getByRole("link", { name: "Graph" }).click();
  await page.getByText("10,000 tasks are too many to be drawn one by one").waitFor();
  // The graph is laid out in a worker.
  await page.locator(".graph-box").first().waitFor();
  t.equal(await page.locator(".graph-box").count(), 1, "a box for the one name");
  await page.getByRole("link", { name: "All of them in the table" }).click();
  await table.getByText("step-0", { exact: true }).waitFor();
  const reads = requests.filter((path) => path.startsWith(firstPage(tasks.id))).length;
  t.ok(reads > 0 && reads <= 4, `once per tab: ${reads}`);
  t.same(complaints, []);
  await context.close();
});

t.test("the tail follows a run that writes", async (t) => {
  lines = await server.run("many_lines", { count: LINES });
  const { page, context, complaints } = await openCounted(`/runs/${lines.id}?tab=logs`);
  await server.until(lines, "Completed");
  await page.getByText(/^100,0\d\d lines, ended$/).waitFor();
  await page.getByText(`line ${LINES} of ${LINES}`).waitFor();
  t.ok((await page.locator(".log li").count()) < ROWS_MAX);
  t.same(complaints, []);
  await context.close();
});

t.test("a hundred thousand log lines", async (t) => {
  const { page, context, complaints, requests } = await openCounted(`/runs/${lines.id}?tab=logs`);
  await page.getByText(/^100,0\d\d lines, ended$/).waitFor();
  const drawn = page.locator(".log li");
  await page.getByText(`line ${LINES} of ${LINES}`).waitFor();
  t.ok((await drawn.count()) < ROWS_MAX, "the end is shown, and little else is drawn");
  const pages = requests.filter((path) => path.endsWith("/logs")).length;
  t.ok(pages <= 25, `in large pages: ${pages}`);
  await page.locator(".log").evaluate((box) => box.scrollTo(0, 0));
  await page.getByText(`line 1 of ${LINES}`, { exact: false }).first().waitFor();
  t.ok((await drawn.count()) < ROWS_MAX);
  await page.keyboard.press("G");
  await page.getByText(`line ${LINES} of ${LINES}`).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("line 77777 of");
  await page.getByText("1 line, ended").waitFor();
  t.equal(await page.locator(".log mark").textContent(), "line 77777 of");
  await page.getByRole("combobox", { name: "Level" }).selectOption("ERROR");
  await page.getByText("No line matches").waitFor();
  await page.getByRole("button", { name: "Every line" }).click();
  await page.getByText(/^100,0\d\d lines, ended$/).waitFor();
  t.same(complaints, []);
  await context.close();
});
