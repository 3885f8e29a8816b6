/** The progress of a run is shown in lists of running runs and on its first tab, and follows progress(). */
import t from "tap";
import { browse } from "./browse.ts";

const CLIMB = `
import { flow, progress, signal } from "millrace";
export const climb = flow("climb", async () => {
  progress(40.7, "reading");
  await new Promise((_resolve, reject) => {
    const timer = setTimeout(reject, 600_000);
    signal().addEventListener("abort", () => { clearTimeout(timer); reject(signal().reason); });
  });
});
`;

const { server, open } = await browse(t, { files: { "climb.ts": CLIMB } });

t.test("the percentage of a run is under Running now and on its first tab, and follows", async (t) => {
  const run = await server.run("climb");
  await server.until(run, "Running");
  const { page, context, complaints } = await open("/");
  const row = page.locator(".running-now li").filter({ hasText: "climb" });
  await row.getByText("40 %, reading").waitFor();
  const task = { run_id: run.id, kind: "progress" as const };
  await server.client.artifacts.create({ ...task, data: { value: 85, label: "drawing" } });
  await row.getByText("85 %, drawing").waitFor();
  await row.getByRole("link").click();
  await page.getByRole("tabpanel").or(page.locator(".panel")).getByText("85 %, drawing").waitFor();
  t.equal(await page.getByRole("progressbar", { name: "Progress" }).getAttribute("value"), "85");
  await server.client.artifacts.create({ ...task, data: { value: 95 } });
  await page.getByText("95 %", { exact: true }).waitFor();
  t.same(complaints, []);
  await context.close();
});
