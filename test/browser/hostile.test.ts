/** Names and published data of users are shown as text: none of it is executed, and the layout holds. */
import t from "tap";
import type { RuleBody } from "#sdk/client/index";
import { browse } from "./browse.ts";
import { openTab, type Tab } from "./browser.ts";

const { server, browser } = await browse(t);

const MARKUP = '"><img src=x onerror="globalThis.hit=1"><script>globalThis.hit=1</script>';
const BACKWARDS = "\u202Etxt.exe";
const CONTROL = "\u0000\u0007\u001B[31m\r\n\u2028\uFEFF";
const LONG = "x".repeat(10_000);
/** The longest allowed name. */
const LONG_NAME = "x".repeat(1_000);
/** All of these combined, as a name. */
const NAME = `${MARKUP}${BACKWARDS}${CONTROL}`;
const flowId = await server.flowId("sync_stock_levels");

async function named(name: string, tags: string[] = []) {
  const response = await fetch(`${server.url}/api/flows/${flowId}/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ name, tags }),
  });
  if (response.status !== 201) throw new Error(`a run called so was answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { id: number };
}

const marked = await named(MARKUP + BACKWARDS, [MARKUP, BACKWARDS]);
const long = await named(LONG_NAME, [LONG.slice(0, 200)]);
const hostile = await server.run("hostile");
await server.until(hostile, "Failed");
const { client } = server;
await client.variables.set({ name: "hostile", value: { [MARKUP]: BACKWARDS, control: CONTROL, long: LONG }, tags: [NAME] });
await client.variables.set({ name: "long", value: LONG });
const ruleOf = (name: string, text: string): RuleBody => ({
  name,
  when: { events: ["hostile.came"], flows: ["hostile"] },
  do: [
    { kind: "webhook", url: "http://127.0.0.1:9/hook", body: { [NAME]: `${text} {{ event.payload.text }}` } },
    { kind: "email", to: ["inbox@intern.example"], subject: text, body: LONG },
  ],
});
const rule = await client.rules.create(ruleOf(NAME, MARKUP));
const longRule = await client.rules.create(ruleOf(LONG_NAME, LONG));
const event = await client.events.emit({
  name: "hostile.came",
  payload: { [MARKUP]: BACKWARDS, text: NAME, long: LONG, list: [CONTROL, { [NAME]: LONG }] },
});
await client.events.emit({ name: `hostile.${"x".repeat(200)}`, payload: { long: LONG } });
const changed = await fetch(`${server.url}/api/settings`, {
  method: "PATCH",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ resources: { [NAME]: 3, [LONG]: 40 } }),
});
if (changed.status !== 200) throw new Error(`resources called so were answered ${changed.status}: ${await changed.text()}`);

const SOME = ".panel > *, table.table, .empty, .strip";
const tabOf = (tab: string) => `/runs/${hostile.id}?tab=${tab}`;
/** Each address, and a selector that shows the hostile text. */
const ADDRESSES: readonly (readonly [address: string, shown: string])[] = [
  ["/", SOME],
  ["/runs", SOME],
  [`/runs?q=${encodeURIComponent(MARKUP)}`, SOME],
  [`/runs/${marked.id}`, SOME],
  [`/runs/${long.id}`, SOME],
  [`/runs/${hostile.id}`, SOME],
  ...["logs", "tasks", "graph", "events", "artifacts", "input"].map((tab) => [tabOf(tab), SOME] as const),
  ["/artifacts", SOME],
  ...[1, 2, 3, 4, 5].map((id) => [`/artifacts?artifact=${id}`, "aside"] as const),
  [`/artifacts?key=${encodeURIComponent(NAME)}`, ".empty :text('onerror')"],
  ["/variables", "tr:has-text('onerror')"],
  ["/variables?edit=hostile", "dialog textarea"],
  ["/variables?edit=long", "dialog textarea"],
  [`/variables?q=${encodeURIComponent(NAME)}`, ".toolbar input"],
  ["/rules", "tr:has-text('onerror')"],
  [`/rules/${rule.id}`, ".rule-form"],
  [`/rules/${longRule.id}`, ".rule-form"],
  [`/rules?new=rule&event=${encodeURIComponent(NAME)}`, ".rule-form :text('onerror')"],
  ["/events", "tr:has-text('onerror')"],
  [`/events?event=${event.id}`, "aside :text('onerror')"],
  [`/events?event=${event.id + 1}`, "aside :text('xxxxxxxx')"],
  [`/events?name=${encodeURIComponent(NAME)}`, ".toolbar"],
  ["/queue", ".resources :text('onerror')"],
  ["/settings", ".settings-fields :text('onerror')"],
];

/**
 * Texts after user text within one line of direction: if the direction turns, they are read backwards. The user texts here
 * end in ".exe", or in the control characters after it.
 */
function turned(): string[] {
  const isolating = /isolate|plaintext/;
  const lineOf = (node: Node): Element => {
    let at = node.parentElement as Element;
    for (; at.parentElement !== null; at = at.parentElement) {
      const { display, unicodeBidi } = getComputedStyle(at);
      if (display !== "inline" && display !== "contents") return at;
      if (isolating.test(unicodeBidi)) return at;
    }
    return at;
  };
  const textOf = (node: Node, line: Element): string => {
    if (node.nodeType === Node.TEXT_NODE) return node.textContent ?? "";
    if (node !== line && (!(node instanceof Element) || isolates(node))) return "";
    return [...node.childNodes].map((child) => textOf(child, line)).join("");
  };
  const isolates = (element: Element): boolean => {
    const { display, unicodeBidi } = getComputedStyle(element);
    return (display !== "inline" && display !== "contents") || isolating.test(unicodeBidi);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const lines = new Set<Element>();
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    if (node.textContent?.includes("\u202E") && node.parentElement?.closest("pre, code, textarea") === null)
      lines.add(lineOf(node));
  return [...lines]
    .map((line) => textOf(line, line))
    .filter((text) => {
      const rest = text.slice(text.lastIndexOf(".exe") + ".exe".length);
      // Parts that belong to the name itself: its number among tasks, the end of a long message.
      return /[^\s\p{Cc}\p{Cf}\uFFFD]/u.test(rest.replaceAll("[31m", "").replace(/^-\d+|^ (?:long)+/, ""));
    });
}

async function settled({ page }: Tab, shown: string): Promise<void> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.waitForLoadState("load");
  await page.locator(shown).first().waitFor();
}

t.test("hostile names and artifacts", async (t) => {
  const tab = await openTab(browser);
  const { page, complaints } = tab;
  for (const [address, shown] of ADDRESSES)
    t.test(address.slice(0, 60), async (t) => {
      complaints.length = 0;
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.goto(server.url + address);
      await settled(tab, shown);
      t.equal(await page.evaluate(() => (globalThis as { hit?: number }).hit), undefined, "nothing ran");
      const links = await page.locator("a[href]").evaluateAll((all) => all.map((link) => (link as HTMLAnchorElement).protocol));
      t.same(
        links.filter((protocol) => protocol !== "http:" && protocol !== "https:"),
        [],
      );
      t.equal(await page.locator("main script, main iframe, main img[onerror], main object").count(), 0);
      t.same(await page.evaluate(turned), [], "what follows the text of users is not turned with it");
      const width = () => page.evaluate(() => document.documentElement.scrollWidth);
      t.ok((await width()) <= 1440, "nothing is wider than the window");
      await page.setViewportSize({ width: 320, height: 640 });
      t.ok((await width()) <= 320, "nor than a narrow one");
      t.same(complaints, []);
    });
});
