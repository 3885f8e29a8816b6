/** Files that do not load are listed with their errors on the flows page, which also shows that code was reloaded. */
import t from "tap";
import { browse } from "./browse.ts";

const GOOD = 'import { flow } from "millrace";\nexport const tidy_up = flow("tidy_up", async () => {});\n';
const SYNTAX = 'import { flow } from "millrace";\nexport const late = flow("late" async () => {});\n';
const OPTION = 'import { flow } from "millrace";\nexport const odd = flow("odd", { retrys: 3 }, async () => {});\n';

const { server, open } = await browse(t, { files: { "tidy.ts": GOOD, "late.ts": SYNTAX, "odd.ts": OPTION } });

t.test("files that do not load stand on the flows page with place and code frame, until they are mended", async (t) => {
  const { page, context, complaints } = await open("/flows");
  const section = page.locator("section").filter({ has: page.getByRole("heading", { name: "Problems of the code" }) });
  const syntax = section.getByRole("listitem").filter({ hasText: "late.ts does not load:" });
  await syntax.getByText(/late\.ts:2:\d+/).waitFor();
  t.match(await syntax.locator("pre").innerText(), 'flow("late" async');
  const option = section.getByRole("listitem").filter({ hasText: "odd.ts" });
  t.match(await option.innerText(), /is probably meant otherwise: .*retrys/);
  await section.getByText("2 problems", { exact: true }).waitFor();
  const glyph = await option.locator("svg").boundingBox();
  const name = await option.getByText("odd.ts", { exact: true }).boundingBox();
  t.ok(glyph && name && glyph.y + glyph.height > name.y && name.x > glyph.x, "the glyph stands before the name, on its line");
  t.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));

  server.addFile("late.ts", SYNTAX.replace('"late"', '"late",'));
  await syntax.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "late", exact: true }).waitFor();
  server.addFile("odd.ts", OPTION.replace("retrys", "retries"));
  await section.waitFor({ state: "detached" });
  t.same(complaints, []);
  await context.close();
});

t.test("the flows page says of how many flows the code was reloaded, and which file changed", async (t) => {
  const { page, context, complaints } = await open("/flows");
  await page.getByRole("link", { name: "tidy_up", exact: true }).waitFor();
  server.addFile("tidy.ts", `${GOOD}// Another line.\n`);
  const line = page.getByText(/^Code of 1 flow reloaded .*tidy\.ts changed$/);
  await line.waitFor();
  t.same(complaints, []);
  await context.close();
});
