/** What the documents name is where they say it is: files, folders, functions, links and their headings. */
import { posix } from "node:path";
import t from "tap";
import { fileExists, PRODUCT_FOLDERS, pathsOf, readText, SOURCES } from "./sources.ts";

const ARCHITECTURE = "docs/ARCHITECTURE.md";
const READMES = pathsOf("{actors,storage,gateway,runtime,dashboard,sdk,test}/**/README.md");
const WITH_PATHS = [ARCHITECTURE, "README.md", "CONTRIBUTING.md", ...READMES];
/** These follow a message and a row by named functions. */
const WITH_FUNCTIONS = ["actors/README.md", "storage/README.md", "gateway/README.md"];
const WITH_LINKS = [...pathsOf("*.md"), "llms.txt", ...pathsOf("{docs,examples}/**/*.md"), ...READMES];

/** Written like paths of this repository, but meant are files of users and of homes, or the form of a name. */
const ELSEWHERE = new Set(["flows/greeting.ts", "millrace.toml", "server.json", "./file.ts"]);
/** In this part, paths outside these folders are those of other projects. */
const OTHER_PROJECTS = /^## Where we learned it$[\s\S]*?(?=^## )/m;
const OWN_FOLDERS: readonly string[] = [...PRODUCT_FOLDERS, "dashboard", "test"];

const PATH = /^[\w.-]+(?:\/[\w.-]+)*(?:\/|\.(?:tsx?|md|json|css|toml))$/;
/** A path in backticks, or one of a TypeScript file or document that stands without them. */
const PATHS = /`([^`\n]+)`|(?<![\w/.`-])((?:[\w.-]+\/)*[\w.-]+\.(?:tsx?|md))(?![\w`])/g;
/** `name` (file) or `name` in file; the file may stand in backticks. */
const NAME_IN_FILE = /`([#\w.]+)`,? (?:\(|in )`?((?:[\w-]+\/)*[\w-]+\.ts)\b/g;
const IDENTIFIER = /`([A-Za-z_#][\w#]*(?:\.[#\w]+)*)(?:\(\))?`/g;

/** Blocks of code become blank, so that places keep their offsets. */
const withoutBlocks = (text: string): string => text.replace(/^```[\s\S]*?^```/gm, (block) => block.replace(/[^\n]/g, " "));
const withoutLinks = (text: string): string => text.replace(/\]\([^)]*\)/g, "]");

/** The paragraph or row of a table that leads to an offset. */
function leadTo(text: string, offset: number): string {
  const line = text.lastIndexOf("\n", offset) + 1;
  return text.slice(text.startsWith("|", line) ? line : text.lastIndexOf("\n\n", offset) + 2, offset);
}

/** A path counts from the root, from the folder of its document, or from a folder that the same paragraph has named before. */
function findPath(path: string, document: string, lead: string): string | undefined {
  const named = Array.from(lead.matchAll(/`([\w./-]+)`/g), ([, each = ""]) => (each.endsWith("/") ? each : posix.dirname(each)));
  const own = posix.dirname(document);
  const bases = [".", own, ...named.flatMap((base) => [base, posix.join(own, base)])];
  return bases.map((base) => posix.join(base, path)).find(fileExists);
}

function missingPaths(document: string, written: string): string[] {
  const missing: string[] = [];
  const other = OTHER_PROJECTS.exec(written);
  const text = withoutLinks(withoutBlocks(written.replace(OTHER_PROJECTS, (part) => part.replace(/[^\n]/g, " "))));
  for (const match of text.matchAll(PATHS)) {
    const path = match[1] ?? match[2] ?? "";
    if (!PATH.test(path) || ELSEWHERE.has(path)) continue;
    if (findPath(path, document, leadTo(text, match.index)) === undefined) missing.push(`${document}: ${path}`);
  }
  for (const [, path = ""] of other?.[0].matchAll(PATHS) ?? [])
    if (PATH.test(path) && OWN_FOLDERS.some((folder) => path.startsWith(`${folder}/`)) && !fileExists(path))
      missing.push(`${document}: ${path}`);
  return missing;
}

/** Whether a file declares a function, class, constant or type of this name, or a member of it. */
function declares(code: string, name: string): boolean {
  const item = new RegExp(
    `^\\s*(?:(?:export|default|abstract|async) )*(?:function\\*?|class|const|let|interface|type)\\s+${name}\\b`,
    "m",
  );
  const member = new RegExp(`^\\s+(?:(?:static|async|readonly|get) |\\*)*${name}\\b\\s*[(<=:?]`, "m");
  return item.test(code) || member.test(code);
}

function missingNames(document: string, text: string): { checked: number; missing: string[] } {
  const missing: string[] = [];
  let checked = 0;
  for (const match of text.matchAll(NAME_IN_FILE)) {
    const [, name = "", path = ""] = match;
    const found = findPath(path, document, leadTo(text, match.index));
    const file = SOURCES.find((source) => source.path === found);
    // A path of another project is no source file, and one of our own is missed by the other test.
    if (file === undefined) continue;
    checked += 1;
    const code = file.code.replace(/^(?:import|export(?: type)? \{)[^;]*;/gm, "");
    for (const part of name.split(".")) if (!declares(code, part)) missing.push(`${document}: ${part} in ${file.path}`);
  }
  return { checked, missing };
}

/** The addresses that GitHub gives to the headings of a document. */
function headingsOf(text: string): Set<string> {
  const found = new Map<string, number>();
  for (const [, heading = ""] of withoutBlocks(text).matchAll(/^#{1,6} +(.+)$/gm)) {
    const address = withoutLinks(heading)
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .trim()
      .replaceAll(" ", "-");
    found.set(address, (found.get(address) ?? 0) + 1);
  }
  return new Set(
    [...found].flatMap(([address, count]) => Array.from({ length: count }, (_, n) => (n ? `${address}-${n}` : address))),
  );
}

function brokenLinks(document: string, text: string, read = readText): { checked: number; broken: string[] } {
  const broken: string[] = [];
  let checked = 0;
  for (const [, target = ""] of withoutBlocks(text).matchAll(/\]\(([^()\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    checked += 1;
    const [path = "", heading] = target.split("#");
    const file = path === "" ? document : posix.join(posix.dirname(document), path);
    if (path !== "" && !fileExists(file)) broken.push(`${document}: ${target}`);
    else if (heading !== undefined && !headingsOf(path === "" ? text : read(file)).has(heading))
      broken.push(`${document}: ${target}`);
  }
  return { checked, broken };
}

t.test("every file and folder that the architecture and the READMEs name exists", async (t) => {
  for (const document of WITH_PATHS) t.same(missingPaths(document, readText(document)), []);
});

t.test("every function that a document names with its file is declared there", async (t) => {
  for (const document of WITH_PATHS) {
    const { checked, missing } = missingNames(document, readText(document));
    t.same(missing, []);
    if (WITH_FUNCTIONS.includes(document)) t.ok(checked >= 15, `${document} names ${checked} functions with their files`);
  }
});

t.test("every name of code in the READMEs that follow a message and a row is one of the code", async (t) => {
  const words = new Set(SOURCES.flatMap(({ code }) => code.match(/\w+/g) ?? []));
  for (const document of WITH_FUNCTIONS) {
    const names = Array.from(readText(document).matchAll(IDENTIFIER), ([, name = ""]) => name);
    t.same(
      names.filter((name) => !name.split(/[.#]/).every((part) => part === "" || words.has(part))),
      [],
      document,
    );
  }
});

t.test("every relative link leads to a file, and to a heading of it where the link names one", async (t) => {
  let all = 0;
  for (const document of WITH_LINKS) {
    const { checked, broken } = brokenLinks(document, readText(document));
    t.same(broken, []);
    all += checked;
  }
  t.ok(all > 500, `${all} links are checked`);
});

t.test("the checks see what is missing", async (t) => {
  const paths = "`protocol/gone.ts` and core/turn.ts\n\n`storage/write/` has `ops.ts` and `gone.ts`\n\n## Where we learned it\n";
  t.same(missingPaths("actors/README.md", `${paths}\`lib/theirs.ts\`, \`actors/gone.ts\`\n\n## Next\n`), [
    "actors/README.md: protocol/gone.ts",
    "actors/README.md: gone.ts",
    "actors/README.md: actors/gone.ts",
  ]);
  const names = "`Turn.finish` (core/turn.ts), `Turn.gone` (core/turn.ts), `noted` in `runtime/host.ts`";
  t.same(missingNames("actors/README.md", names), {
    checked: 3,
    missing: ["actors/README.md: gone in actors/core/turn.ts", "actors/README.md: noted in runtime/host.ts"],
  });
  const links = "[a](tour.md) [b](tour.md#a-rule) [c](tour.md#gone) [d](gone.md) [e](#own) [f](#own-1) [g](https://example.com)";
  t.same(brokenLinks("docs/x.md", `# Own\n\n## \`Own\`\n\n${links} [h](#own-2)\n`), {
    checked: 7,
    broken: ["docs/x.md: tour.md#gone", "docs/x.md: gone.md", "docs/x.md: #own-2"],
  });
});
