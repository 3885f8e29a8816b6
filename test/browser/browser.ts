/** The distribution's Chromium, with pages that record all errors. */
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const CHROMIUM = process.env["MILLRACE_CHROMIUM"] ?? "/usr/bin/chromium";

export type Theme = "light" | "dark";

export interface PageOptions {
  theme?: Theme;
  width?: number;
  height?: number;
  reducedMotion?: boolean;
}

/** @param keepsPages keep pages that were left for the back button, as browsers of users do and Playwright's do not */
export function launch(keepsPages = false): Promise<Browser> {
  // Root cannot use the sandbox; the loaded pages are our own.
  const args = ["--no-sandbox", "--js-flags=--expose-gc"];
  return chromium.launch({
    executablePath: CHROMIUM,
    args,
    ignoreDefaultArgs: keepsPages ? ["--disable-back-forward-cache"] : [],
  });
}

export interface Tab {
  page: Page;
  context: BrowserContext;
  /** Script errors, violations of the content security policy and console errors. */
  complaints: string[];
}

export async function openTab(browser: Browser, options: PageOptions = {}): Promise<Tab> {
  const { theme = "light", width = 1440, height = 960, reducedMotion = true } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: reducedMotion ? "reduce" : "no-preference",
    timezoneId: "Europe/Berlin",
    locale: "en-GB",
    hasTouch: false,
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // Some tests stop the server, so ignore its connection errors.
    if (message.type() === "error" && !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET/.test(message.text()))
      complaints.push(message.text());
  });
  return { page, context, complaints };
}
