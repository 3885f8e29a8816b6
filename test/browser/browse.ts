/** The setup of most browser tests: a server and a browser, which end with the test, and pages. */
import type { Browser, Page } from "playwright-core";
import { launch, openTab, type PageOptions, type Tab } from "./browser.ts";
import { Served, type ServedOptions } from "./served.ts";

export interface Browsing {
  server: Served;
  browser: Browser;
  /** Opens a page at this path of the server. */
  open: (path: string, options?: PageOptions) => Promise<Tab>;
}

interface Teardown {
  teardown(end: () => Promise<void>): void;
  comment(text: string): void;
  passing(): boolean;
}

/** Characters of a page's text that explain a failure. */
const TEXT_SHOWN_MAX = 2_000;

/** With a running server, or with one that is started with these options. */
export async function browse(t: Teardown, served: Served | ServedOptions = {}): Promise<Browsing> {
  const server = served instanceof Served ? served : await Served.start(served);
  const browser = await launch();
  t.teardown(async () => {
    // A test closes its pages last, so the page of a test that failed is still open.
    const open = t.passing() ? [] : browser.contexts().flatMap((context) => context.pages());
    for (const page of open) t.comment(await textOf(page));
    await browser.close();
    await server.close();
  });
  const open = async (path: string, options: PageOptions = {}): Promise<Tab> => {
    const tab = await openTab(browser, options);
    await tab.page.goto(server.url + path);
    return tab;
  };
  return { server, browser, open };
}

/** What the page shows, which a locator that never appeared does not say. */
async function textOf(page: Page): Promise<string> {
  const text = await page.locator("main").innerText().catch(String);
  return `${page.url()} shows:\n${text.slice(0, TEXT_SHOWN_MAX)}`;
}
