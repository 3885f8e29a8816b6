/** A server with a token: the dashboard asks for it once, and keeps it. */
import t from "tap";
import { launch, openTab } from "./browser.ts";
import { Served } from "./served.ts";

t.test("the token is asked for and tried before it is kept", async (t) => {
  const server = await Served.start({ token: "open sesame" });
  const browser = await launch();
  t.teardown(async () => {
    await browser.close();
    await server.close();
  });
  const { page } = await openTab(browser);
  await page.goto(`${server.url}/runs`);
  const field = page.getByLabel("Token", { exact: true }).and(page.locator("input"));
  await field.fill("wrong");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("That is not the token of this server.").waitFor();
  await field.fill("open sesame");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.reload();
  await page.getByText("Live", { exact: true }).waitFor();
  t.equal(await page.getByRole("dialog").count(), 0);
});
