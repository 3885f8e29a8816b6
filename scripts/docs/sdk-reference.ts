/** The reference of the package's exports, from its declarations and their comments. */
import { type ApiItem, readApi } from "./api-model.ts";
import { parseDocComment } from "./doc-comment.ts";
import { code, page, table } from "./markdown.ts";

/** A longer declaration, such as that of a schema, is left to the reference of HTTP. */
const SIGNATURE_LENGTH_MAX = 900;

/** The entries of the package, with how the page introduces them. */
const ENTRIES = [
  { file: "sdk/index", module: "millrace", intro: "What flow files import." },
  {
    file: "sdk/client/index",
    module: "millrace/client",
    intro:
      "The client of a server, for Node and browsers. Records keep the names of the HTTP interface; times are integer microseconds since the Unix epoch.",
  },
  {
    file: "sdk/testing/index",
    module: "millrace/testing",
    intro: "Runs flows and calls rules, routes and hooks in tests: in this process, in simulated time, without a server.",
  },
] as const;

const GROUPS: readonly { title: string; kinds: readonly string[] }[] = [
  { title: "Functions and values", kinds: ["Function", "Variable", "Namespace"] },
  { title: "Classes", kinds: ["Class"] },
  { title: "Types", kinds: ["Interface", "TypeAlias"] },
];

/** The declarations of one name: overloads, or a type with its schema. */
interface Export {
  name: string;
  items: ApiItem[];
}

/** One entry: its exports, and the declarations that they refer to without exporting them. */
class Entry {
  readonly exports: readonly Export[];
  readonly #unexported = new Map<string, ApiItem[]>();

  constructor(items: readonly ApiItem[]) {
    const exported = new Map<string, ApiItem[]>();
    for (const item of items) {
      const name = exportedName(item);
      const into = item.canonicalReference.includes("!~") ? this.#unexported : exported;
      into.set(name, [...(into.get(name) ?? []), item]);
    }
    this.exports = [...exported].map(([name, each]) => ({ name, items: each }));
  }

  /** The declarations of a name that is not exported. */
  unexported(name: string): readonly ApiItem[] {
    return this.#unexported.get(name) ?? [];
  }

  /** The declarations that an item's type or heritage refers to without exporting them. */
  referred(item: ApiItem): readonly ApiItem[] {
    const names = (item.excerptTokens ?? []).flatMap(({ canonicalReference = "" }) => {
      const found = /^millrace!~(\w+):(?:class|interface)$/.exec(canonicalReference)?.[1];
      return found === undefined ? [] : [found];
    });
    return names.flatMap((name) => this.unexported(name));
  }
}

/** The doc model renames a declaration whose name another file has too (Event_2); the reference keeps the exported name. */
function exportedName({ canonicalReference }: ApiItem): string {
  return (/!~?([^:(]+)/.exec(canonicalReference)?.[1] ?? "").replace(/_\d+$/, "");
}

export function sdkReference(): string {
  const models = readApi(ENTRIES.map(({ file }) => file));
  const sections = ENTRIES.map(({ module, intro }, index) => entrySection(module, intro, new Entry(models[index] ?? [])));
  return page(
    "# SDK",
    "Every export of the package. Types of records that the client returns have their fields in the [reference of HTTP](http.md).",
    ...sections,
  );
}

function entrySection(module: string, intro: string, entry: Entry): string {
  const groups = GROUPS.map(({ title, kinds }) => {
    const members = entry.exports.filter(({ items }) => kinds.includes(groupKind(items)));
    const [records, own] = [members.filter(isRecord), members.filter((each) => !isRecord(each))];
    if (members.length === 0) return "";
    return page(`### ${title} of ${module}`, ...own.map((each) => exportSection(each, entry)), recordTable(records)).trimEnd();
  });
  return page(`## ${module}`, intro, ...groups).trimEnd();
}

/** A type with a schema of the same name is listed as a type. */
function groupKind(items: readonly ApiItem[]): string {
  return (items.find(({ kind }) => kind === "TypeAlias" || kind === "Interface") ?? items[0])?.kind ?? "";
}

/** Records of the wire are described by their schemas. */
function isRecord({ items }: Export): boolean {
  return items.every(({ fileUrlPath = "" }) => fileUrlPath.startsWith("dist/protocol/"));
}

function recordTable(records: readonly Export[]): string {
  if (records.length === 0) return "";
  return page(
    "Records of the HTTP interface:",
    table(
      ["Type", "What it is"],
      records.map(({ name, items }) => [code(name), summaryOf(items)]),
    ),
  ).trimEnd();
}

function summaryOf(items: readonly ApiItem[]): string {
  const comment = items.map(({ docComment }) => docComment ?? "").find((text) => text !== "");
  return comment === undefined ? "" : parseDocComment(comment).summary;
}

function exportSection({ name, items }: Export, entry: Entry): string {
  const [first] = items;
  if (first === undefined) return "";
  return page(
    `#### ${name}`,
    signature(items, entry),
    ...items.map(commentParts),
    ...(first.kind === "Namespace" ? [memberTable(first.members ?? [])] : []),
    ...items.filter(hasMembers).map((item) => memberTable(membersOf(item, entry))),
    ...(first.kind === "Class" ? partsOf(first, entry) : []),
  ).trimEnd();
}

function hasMembers({ kind }: ApiItem): boolean {
  return kind === "Class" || kind === "Interface";
}

/** The members of a class or interface, with those of what it extends. The name of an error is that of its class. */
function membersOf(item: ApiItem, entry: Entry): ApiItem[] {
  const inherited = item.kind === "Interface" ? entry.referred(item).filter(hasMembers) : [];
  const members = [...(item.members ?? []), ...inherited.flatMap(({ members }) => members ?? [])];
  return isError(item) ? members.filter(({ name }) => name !== "name") : members;
}

function isError(item: ApiItem): boolean {
  return item.kind === "Class" && /extends \w*Error\b/.test(excerpt(item));
}

/** The groups of methods of a class, `client.runs` and its like: their classes are not exported. */
function partsOf(item: ApiItem, entry: Entry): string[] {
  return (item.members ?? [])
    .filter(({ kind }) => kind === "Property")
    .flatMap((property) =>
      entry
        .referred(property)
        .filter(({ kind }) => kind === "Class")
        .map((part) => {
          const methods = (part.members ?? []).filter(({ kind }) => kind === "Method");
          return page(`##### ${item.name}.${property.name}`, summaryOf([part]), memberTable(methods)).trimEnd();
        }),
    );
}

function commentParts({ docComment = "" }: ApiItem): string {
  if (docComment === "") return "";
  const { summary, params, throws, examples } = parseDocComment(docComment);
  return page(
    summary,
    params.map(({ name, text }) => `- ${code(name)}: ${text}`).join("\n"),
    throws.map((text) => `Throws ${text}`).join("\n\n"),
    ...examples.map((example) => fenced(example)),
  ).trimEnd();
}

function fenced(text: string): string {
  return `\`\`\`ts\n${text}\n\`\`\``;
}

/** How the export is declared; for a function that is declared as a value, its calls. */
function signature(items: readonly ApiItem[], entry: Entry): string {
  const lines = items.flatMap((item) => {
    const calls = item.kind === "Variable" ? entry.referred(item).flatMap(({ members }) => members ?? []) : [];
    const own = calls.filter(({ kind }) => kind === "CallSignature").map((call) => `${item.name}${excerpt(call)}`);
    return own.length > 0 ? own : [excerpt(item)];
  });
  const text = lines.filter((line) => line !== "").join("\n\n");
  return text === "" || text.length > SIGNATURE_LENGTH_MAX ? "" : fenced(text);
}

/** The declaration, under the name that the package exports: `export { arraySchema as Array }` declares another one. */
function excerpt({ kind, name, excerptTokens = [] }: ApiItem): string {
  const declared = excerptTokens
    .map(({ text }) => text)
    .join("")
    .replace(/^export (declare )?/, "");
  const renamed = kind === "Function" || kind === "Variable";
  return (renamed ? declared.replace(/^((?:function |const )?)\w+(?=[:(<])/, `$1${name}`) : declared)
    .replaceAll("    ", "  ")
    .trim();
}

function memberTable(members: readonly ApiItem[]): string {
  const shown = members.filter(({ kind, name }) => kind !== "Constructor" && kind !== "CallSignature" && !name.startsWith("["));
  if (shown.length === 0) return "";
  return table(
    ["Member", "What it is"],
    shown.map((member) => [code(excerpt(member).replace(/;$/, "").replace(/\s+/g, " ")), memberText(member)]),
  );
}

function memberText({ docComment = "" }: ApiItem): string {
  if (docComment === "") return "";
  const { summary, params, throws } = parseDocComment(docComment);
  const given = params.map(({ name, text }) => `${code(name)}: ${text}.`.replace(/\.\.$/, "."));
  return [summary, ...given, ...throws.map((text) => `Throws ${text}`)].join(" ").replace(/\s+/g, " ");
}
