/** The setup of most browser tests: a server and a browser, which end with the test, and pages. */
import type { Browser } from "playwright-core";
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
}

/** With a running server, or with one that is started with these options. */
export async function browse(t: Teardown, served: Served | ServedOptions = {}): Promise<Browsing> {
  const server = served instanceof Served ? served : await Served.start(served);
  const browser = await launch();
  t.teardown(async () => {
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
