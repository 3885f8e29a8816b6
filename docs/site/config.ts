/** The VitePress configuration of the site; scripts/docs-site.ts copies this file beside the pages. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type MarkdownRenderer } from "vitepress";

const PAGES = process.env["MILLRACE_SITE_PAGES"] ?? ".";

interface Link {
  text: string;
  link: string;
}

/** Title of a page: its first heading. */
function titleOf(page: string): string {
  return /^# (.+)$/m.exec(readFileSync(join(PAGES, page), "utf8"))?.[1]?.replaceAll("`", "") ?? page;
}

function linkOf(page: string): Link {
  return { text: titleOf(page), link: `/${page.replace(/(?:^README)?\.md$/, "")}` };
}

function pagesOf(folder: string): Link[] {
  const names = readdirSync(join(PAGES, folder)).filter((name) => name.endsWith(".md"));
  return names.sort().map((name) => linkOf(`${folder}/${name}`));
}

/** The address that GitHub gives to a heading; the links of the documents name these. */
function addressOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replaceAll(" ", "-");
}

/** Text such as {{ run.name }} belongs to a template of Millrace, not of Vue, which would evaluate it. */
function keepBraces({ renderer }: MarkdownRenderer): void {
  for (const kind of ["text", "code_inline"] as const) {
    const render = renderer.rules[kind];
    renderer.rules[kind] = (...token) => (render?.(...token) ?? "").replaceAll("{{", "&#123;&#123;");
  }
}

export default defineConfig({
  title: "Millrace",
  description: "A local orchestration server for pipelines",
  lang: "en",
  cleanUrls: false,
  rewrites: { "README.md": "index.md" },
  // A link to a page or heading that does not exist fails the build.
  ignoreDeadLinks: false,
  // A path such as /api/runs/{id} is no attribute of its heading.
  markdown: { anchor: { slugify: addressOf }, attrs: { disable: true }, config: keepBraces },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Tour", link: "/docs/tour" },
      { text: "Reference", link: "/docs/reference/cli" },
    ],
    sidebar: [
      { text: "Start", items: ["README.md", "docs/tour.md"].map(linkOf) },
      { text: "Guides", items: pagesOf("docs/guides") },
      { text: "Reference", items: [...pagesOf("docs/reference"), linkOf("docs/SEMANTICS.md")] },
      {
        text: "Inside",
        items: ["docs/ARCHITECTURE.md", "docs/PERFORMANCE.md", "docs/RELIABILITY.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(
          linkOf,
        ),
      },
      { text: "Decisions", collapsed: true, items: pagesOf("docs/adr") },
    ],
  },
});
