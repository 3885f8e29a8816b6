/** The distribution's Chromium, and pages in it that note whatever goes wrong in them. */
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

const CHROMIUM = process.env["MILLRACE_CHROMIUM"] ?? "/usr/bin/chromium";

export type Theme = "light" | "dark";

export interface PageOptions {
  theme?: Theme;
  width?: number;
  height?: number;
  reducedMotion?: boolean;
}

export function launch(): Promise<Browser> {
  // Root has no sandbox of its own; what is loaded here is our own.
  return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--js-flags=--expose-gc"] });
}

export interface Tab {
  page: Page;
  context: BrowserContext;
  /** Errors of scripts, refusals of the content security policy and complaints on the console. */
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
    // A server that is away is part of some tests, and says so itself.
    if (message.type() === "error" && !/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET/.test(message.text()))
      complaints.push(message.text());
  });
  return { page, context, complaints };
}
