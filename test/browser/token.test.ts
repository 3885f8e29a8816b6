/** A server with a token: the dashboard asks for the token once and keeps it. */
import t from "tap";
import { browse } from "./browse.ts";

t.test("the token is asked for and tried before it is kept", async (t) => {
  const { open } = await browse(t, { token: "open sesame" });
  const { page } = await open("/runs");
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
