/** What is wrong with a built site: documents without a page or out of the search, links that lead nowhere. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";

const SEARCH_INDEX = /^@localSearchIndex.*\.js$/;

interface Page {
  /** As in a link from the root of the site. */
  path: string;
  links: string[];
  anchors: Set<string>;
}

/** The address of a document's page in the site. */
function addressOf(document: string): string {
  return `/${document.replace(/^README\.md$/, "index.md").replace(/\.md$/, ".html")}`;
}

function attributes(html: string, name: string): string[] {
  return Array.from(html.matchAll(new RegExp(`\\s${name}="([^"]*)"`, "g")), ([, value = ""]) => value.replaceAll("&amp;", "&"));
}

function readPage(site: string, path: string): Page {
  const html = readFileSync(join(site, path), "utf8");
  return { path, links: attributes(html, "href"), anchors: new Set(attributes(html, "id")) };
}

/** The path of a link's target, as in `Page`, and the heading in it; undefined for another site. */
function targetOf(link: string, from: string): { path: string; anchor: string } | undefined {
  if (/^[a-z]+:/.test(link)) return undefined;
  const [path = "", anchor = ""] = link.split("#");
  const whole = path === "" ? from : posix.join(path.startsWith("/") ? "/" : posix.dirname(from), path);
  return { path: whole.endsWith("/") ? `${whole}index.html` : whole, anchor: decodeURIComponent(anchor) };
}

function deadLinks(site: string, pages: ReadonlyMap<string, Page>): string[] {
  const dead: string[] = [];
  for (const { path: from, links } of pages.values()) {
    for (const link of links) {
      const target = targetOf(link, from);
      if (target === undefined) continue;
      const file = join(site, target.path);
      const page = pages.get(target.path);
      if (!existsSync(file) || !statSync(file).isFile()) dead.push(`${from}: ${link} leads nowhere`);
      else if (target.anchor !== "" && page?.anchors.has(target.anchor) === false) dead.push(`${from}: ${link} names no heading`);
    }
  }
  return dead;
}

function searchIndex(site: string): string {
  const chunks = join(site, "assets/chunks");
  const names = readdirSync(chunks).filter((name) => SEARCH_INDEX.test(name));
  return names.map((name) => readFileSync(join(chunks, name), "utf8")).join("\n");
}

export function faultsOfSite(site: string, documents: readonly string[]): string[] {
  const built = readdirSync(site, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".html"));
  const pages = new Map(built.map((path): [string, Page] => [`/${path}`, readPage(site, `/${path}`)]));
  const index = searchIndex(site);
  const addresses = documents.map(addressOf);
  return [
    ...addresses.filter((address) => !pages.has(address)).map((address) => `${address}: no such page`),
    ...addresses
      .filter((address) => !index.includes(`"${address.replace(/index\.html$/, "")}#`))
      .map((address) => `${address}: not in the search`),
    ...deadLinks(site, pages),
  ];
}
