/**
 * Artifacts and variables: the pages show the server's data, secrets are masked until a person reveals them, and nothing is
 * overwritten without warning.
 */
import t from "tap";
import { browse } from "./browse.ts";

const { server, open } = await browse(t);

const run = await server.run("sync_stock_levels");
await server.until(run, "Completed");
const { artifacts, variables } = server.client;

t.test("artifacts of all runs are listed, and new ones enter", async (t) => {
  const { page, context, complaints } = await open("/artifacts");
  await page.getByRole("row", { name: /Stock/ }).waitFor();
  await artifacts.create({ run_id: run.id, kind: "progress", key: "load", data: { title: "Load", value: 10 } });
  await page.getByRole("row", { name: /Load/ }).waitFor();
  await artifacts.create({ run_id: run.id, kind: "progress", key: "load", data: { title: "Load", value: 80, label: "rows" } });
  await page.waitForFunction(() => document.querySelectorAll("tr[data-index]").length === 3);
  await page.getByRole("link", { name: "Load" }).first().click();
  const panel = page.getByRole("complementary", { name: "The chosen artifact" });
  await panel.getByText("80 %").waitFor();
  await panel.getByRole("link", { name: "History of load" }).click();
  await page.getByRole("heading", { level: 1, name: "History of load" }).waitFor();
  await page.waitForFunction(() => document.querySelectorAll("tr[data-index]").length === 2);
  // Down the history by keyboard: selects the older one.
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await panel.getByText("10 %").waitFor();
  await page.getByRole("combobox", { name: "Kind" }).selectOption("table");
  await page.getByText("No artifact has the key load").waitFor();
  t.same(complaints, []);
  await context.close();
});

t.test("a variable is added and changed, and a secret is masked", async (t) => {
  const { page, context, complaints } = await open("/variables");
  await page.getByText("No variables yet").waitFor();
  await page.keyboard.press("n");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox", { name: "Name" }).fill("erp/token");
  await dialog.getByRole("textbox", { name: "Value" }).fill("open sesame");
  await dialog.getByRole("checkbox", { name: /^Secret/ }).check();
  await dialog.getByRole("button", { name: "Store" }).click();
  await page.getByRole("row", { name: /erp\/token.*secret/ }).waitFor();
  await page.getByRole("link", { name: "erp/token" }).click();
  t.equal(await dialog.getByRole("textbox", { name: "Value" }).inputValue(), "");
  await dialog.getByRole("textbox", { name: "Tags" }).fill("shop");
  await dialog.getByRole("button", { name: "Change" }).click();
  await page.getByRole("row", { name: /shop/ }).waitFor();
  t.match(await variables.get("erp/token"), { secret: true, tags: ["shop"], value: "********" });
  t.notMatch(await page.content(), /open sesame/);
  t.same(complaints, []);
  await context.close();
});

t.test("a secret is made plain only by who says so twice", async (t) => {
  await variables.set({ name: "mail/password", value: "open sesame", secret: true });
  const { page, context, complaints } = await open("/variables?edit=mail%2Fpassword");
  const form = page.getByRole("dialog", { name: "mail/password", exact: true });
  const question = page.getByRole("dialog", { name: "Show the value of mail/password?" });
  await form.getByRole("checkbox", { name: /^Secret/ }).uncheck();
  await form.getByRole("button", { name: "Change" }).click();
  await question.getByRole("button", { name: "Keep it secret" }).click();
  await question.waitFor({ state: "detached" });
  t.match(await variables.get("mail/password"), { secret: true, value: "********" });
  await form.getByRole("button", { name: "Change" }).click();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  t.match(await variables.get("mail/password"), { secret: true, value: "********" });
  t.notMatch(await page.content(), /open sesame/);
  await form.getByRole("button", { name: "Change" }).click();
  await question.getByRole("button", { name: "Show 1 value" }).click();
  await page.getByRole("row", { name: /mail\/password.*open sesame/ }).waitFor();
  t.match(await variables.get("mail/password"), { secret: false, value: "open sesame" });
  t.same(complaints, []);
  await context.close();
});

t.test("what exists is not overwritten unless that is said", async (t) => {
  await variables.set({ name: "stations", value: ["alps"] });
  const { page, context } = await open("/variables?new=variable");
  const dialog = page.getByRole("dialog");
  const value = dialog.getByRole("textbox", { name: "Value" });
  await dialog.getByRole("textbox", { name: "Name" }).fill("stations");
  await value.fill('["coast"]');
  await dialog.getByText("Stored as a list.").waitFor();
  await dialog.getByRole("button", { name: "Store" }).click();
  await dialog.getByRole("alert").waitFor();
  t.same((await variables.get("stations")).value, ["alps"]);
  await dialog.getByRole("button", { name: "Overwrite stations" }).click();
  await page.getByText("stations is stored.").waitFor();
  t.same((await variables.get("stations")).value, ["coast"]);

  await page.getByRole("link", { name: "stations" }).click();
  await value.fill('["inland"]');
  await variables.set({ name: "stations", value: ["harbour"] });
  await dialog.getByRole("button", { name: "Change" }).click();
  await dialog.getByRole("alert").getByText('was changed to ["harbour"]').waitFor();
  t.same((await variables.get("stations")).value, ["harbour"]);
  await dialog.getByRole("button", { name: "Overwrite stations" }).click();
  await page.getByText("stations is changed.").waitFor();
  t.same((await variables.get("stations")).value, ["inland"]);
  await context.close();
});

t.test("deleting a variable can be undone until its message ends", async (t) => {
  await variables.set({ name: "old", value: 1 });
  const { page, context } = await open("/variables?q=old");
  await page.getByRole("button", { name: "Delete old" }).click();
  await page.getByRole("link", { name: "old", exact: true }).waitFor({ state: "detached" });
  await page.keyboard.press("u");
  await page.getByRole("link", { name: "old", exact: true }).waitFor();
  t.equal((await variables.get("old")).value, 1, "nothing was sent");
  await page.getByRole("button", { name: "Delete old" }).click();
  await page.getByRole("button", { name: "Close message" }).click();
  await page.waitForFunction(async (path) => (await fetch(path)).status === 404, "/api/variables/old");
  await context.close();
});
