import t from "tap";
import { fileExists, lineAt, readText, TEXTS } from "./sources.ts";

/** Files of this folder contain the texts they search for; the lock file may name registries only where allowed. */
const OWN = "test/tidy/";

interface Forbidden {
  what: string;
  pattern: RegExp;
  /** Files in which the text is allowed. */
  allowed?: RegExp;
}

const FORBIDDEN: readonly Forbidden[] = [
  { what: "leftover marker", pattern: /\b(?:TODO|FIXME|HACK|WIP)\b|@@@|<<<<<<<|>>>>>>>/g },
  {
    what: "forgotten debugging",
    pattern: /\bdebugger;|\bconsole\.(?:log|debug)\(|\bt\.only\(|\.only\(true\)/g,
    allowed: /^sdk\/|^test\/|^docs\/|\.md$/,
  },
  { what: "path of one machine", pattern: /(?<![\w.$}])\/(?:root|work|Users|mnt|srv|var\/folders)\/[\w.-]/g },
  { what: "registry host", pattern: /\b(?:registry\.|npm\.pkg\.|artifactory|verdaccio|nexus\.)[\w.-]*/gi },
  {
    what: "paper outside this repository",
    pattern: /\b(?:rulings?|decisions-[a-z]+)\b(?= ?\d|\.md)|\((?:rulings?|decisions-[a-z]+)\b|\bR\d{1,2}\)|\bcontract\.md\b/g,
  },
  { what: "how the work was organised", pattern: /\b(?:colleagues?|co-?workers?|the lead|sub-?agents?|work(?:ing)? paper)\b/gi },
];

t.test("texts hold nothing that belongs to one machine, one moment or one desk", async (t) => {
  const found: string[] = [];
  for (const path of TEXTS) {
    if (path.startsWith(OWN)) continue;
    const text = readText(path);
    for (const { what, pattern, allowed } of FORBIDDEN) {
      if (allowed?.test(path)) continue;
      for (const match of text.matchAll(pattern)) found.push(`${path}:${lineAt(text, match.index)}: ${what}: ${match[0]}`);
    }
  }
  t.same(found, []);
});

t.test("documents that are named exist", async (t) => {
  const found: string[] = [];
  for (const path of TEXTS) {
    if (path.startsWith(OWN) || !/\.(?:ts|md)$/.test(path)) continue;
    const text = readText(path);
    for (const match of text.matchAll(/(?<![\w/.<-])((?:[\w-]+\/)*(?:[A-Z]{4,}|\d{4}-[\w-]+)\.md)\b/g)) {
      const named = match[1] ?? "";
      const folder = path.slice(0, path.lastIndexOf("/") + 1);
      const above = folder.replace(/[^/]+\/$/, "");
      const exists = [named, `${folder}${named}`, `${above}${named}`].some(fileExists);
      if (!exists) found.push(`${path}:${lineAt(text, match.index)}: there is no ${named}`);
    }
  }
  t.same(found, []);
});

t.test("links in documents lead somewhere", async (t) => {
  const found: string[] = [];
  for (const path of TEXTS.filter((name) => name.endsWith(".md"))) {
    const text = readText(path);
    for (const match of text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)/g)) {
      const target = new URL(match[1] ?? "", `file:///${path}`).pathname.slice(1);
      if (!fileExists(target)) found.push(`${path}:${lineAt(text, match.index)}: there is no ${target}`);
    }
  }
  t.same(found, []);
});
