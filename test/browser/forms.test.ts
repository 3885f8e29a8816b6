/** Forms show errors at the wrong field, and pages show facts: existing commands, attempts, waits. */
import t from "tap";
import { browse } from "./browse.ts";

/** Flows that only these tests use. */
const REPORTS = `import { flow, rrule, Type } from "millrace";
export const board = flow("weekly_board_report", { schedules: [rrule("FREQ=WEEKLY")] }, () => "sent");
const limits = Type.Object({ rate: Type.Number() });
export const limited = flow("limited_import", { parameters: Type.Object({ limits }) }, () => "done");
`;
const { server, open } = await browse(t, { files: { "reports.ts": REPORTS } });

t.test("an answer that lacks a field is refused at that field, and the run goes on waiting", async (t) => {
  const run = await server.run("approve_invoices");
  await server.until(run, "Paused");
  const { page, context } = await open(`/runs/${run.id}`);
  await page.getByText("Send 3 invoices?").waitFor();
  await page.getByRole("button", { name: "Answer" }).click();
  const field = page.locator(".stacked").filter({ has: page.getByLabel(/^send/) });
  await field.getByRole("alert").getByText('answer "send" is required').waitFor();
  t.equal(await page.getByLabel(/^send/).getAttribute("aria-invalid"), "true");
  t.equal(await page.getByRole("alert").count(), 1, "it is said once");
  t.equal((await server.client.runs.get(run.id)).state.type, "Paused");
  t.same(await server.client.runs.answers(run.id), []);
  await page.getByLabel(/^send/).selectOption("false");
  await page.getByRole("button", { name: "Answer" }).click();
  await server.until(run, "Completed");
  await context.close();
});

t.test("an empty list of variables or events offers what can be copied and run", async (t) => {
  const { page, context } = await open("/variables");
  await page.getByText("npx millrace variables set NAME VALUE", { exact: true }).waitFor();
  await page.goto(`${server.url}/events?name=shop.*`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  t.equal(await page.getByText(/millrace emit/).count(), 0);
  await context.close();
});

t.test("a run that was tried again says on which attempt it is, and the wait between counts as a wait", async (t) => {
  const run = await server.run("ingest_station_observations", { count: 6 });
  await server.until(run, "Failed");
  const { details } = (await server.client.runs.get(run.id)).state;
  const [first = [0, 0], second = [0, null]] = details["attempts"] as [number, number | null][];
  const waitedUs = second[0] - (first[1] ?? 0);
  t.ok(waitedUs >= 300_000, "as long as its delay");
  const { page, context } = await open(`/runs/${run.id}`);
  await page.getByText("On attempt 2.").waitFor();
  const fact = page.locator(".facts div").filter({ hasText: /^Attempt2$/ });
  await fact.waitFor();
  await page.getByText(/worked in 2 attempts/).waitFor();
  const wait = page.locator(".life i.s-awaiting-retry");
  await wait.waitFor({ state: "attached" });
  t.match(await wait.getAttribute("title"), /^waited for the next attempt: (0\.[3-9]|[1-9]\d*(\.\d)?) s$/);
  t.notMatch(await wait.getAttribute("class"), /works/);
  await context.close();
});

t.test("of a rule only the list that holds the wrong name is marked, and the name that was meant is offered", async (t) => {
  const { page, context } = await open("/rules?new=rule&event=run.finished");
  await page.getByRole("textbox", { name: "Name" }).fill("Tell me");
  await page.getByLabel("Add an action").selectOption("cancel_run");
  await page.getByRole("button", { name: "Make rule" }).click();
  await page.getByRole("alert").getByText('did you mean "run.completed"?').waitFor();
  const invalid = (list: string) => page.getByRole("combobox", { name: `When: ${list}` }).getAttribute("aria-invalid");
  t.equal(await invalid("events"), "true");
  for (const list of ["flows", "states", "tags"]) t.not(await invalid(list), "true", list);
  await page.getByRole("button", { name: "Use run.completed" }).click();
  await page.getByRole("button", { name: "Take away run.completed" }).waitFor();
  await context.close();
});

t.test("a dry run of a backfill is told in words of the page", async (t) => {
  const { page, context } = await open(`/backfills?flow=${await server.flowId("build_regional_summary")}`);
  await page.getByRole("textbox", { name: "First value" }).fill("2026-10-01");
  await page.getByRole("textbox", { name: "Last value" }).fill("2026-10-01");
  await page.getByRole("button", { name: "Dry run" }).click();
  const told = page.getByRole("status").filter({ hasText: "It would create" });
  await told.waitFor();
  t.equal(await told.textContent(), "It would create 1 run, from day 2026-10-01 to 2026-10-01.");
  await context.close();
});

t.test("a flow with a wrong schedule says so once, with what it means, and is run by hand", async (t) => {
  const { page, context } = await open(`/flows/${await server.flowId("weekly_board_report")}`);
  await page.getByText("Wrong schedule", { exact: true }).waitFor();
  t.equal(await page.getByText(/must include DTSTART/).count(), 1, "the cause is said once");
  t.equal(await page.getByText(/Does not load/).count(), 0);
  await page.getByRole("button", { name: "Run weekly_board_report" }).click();
  await page.waitForURL(/\/runs\/\d+$/);
  await page.getByText("Completed", { exact: true }).first().waitFor();
  await page.goto(`${server.url}/flows`);
  await page.getByText(/^Wrong schedule: schedule 0: invalid rrule/).waitFor();
  await context.close();
});

t.test("what is wrong inside a parameter is said at the field that holds it, before there is a run", async (t) => {
  const { page, context } = await open(`/flows/${await server.flowId("limited_import")}`);
  const field = page.getByRole("textbox", { name: /^limits/ });
  await field.fill('{"rate": "x"}');
  await page.getByRole("button", { name: "Run limited_import" }).click();
  const alert = page.locator(".stacked").filter({ has: field }).getByRole("alert");
  await alert.getByText(/rate/).waitFor();
  t.equal(await field.getAttribute("aria-invalid"), "true");
  t.equal(await page.getByRole("alert").count(), 1, "it is said once");
  await field.fill('{"rate": 2}');
  await page.getByRole("button", { name: "Run limited_import" }).click();
  await page.waitForURL(/\/runs\/\d+$/);
  await context.close();
});
