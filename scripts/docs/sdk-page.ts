/** What the reference of the SDK shows of each export, read from the page. */

/** An export in the reference. */
export interface ShownExport {
  module: string;
  name: string;
  /** "Functions and values", "Classes" or "Types". */
  group: string;
  description: string;
  /** Code of the examples. */
  examples: string[];
  /** The rows of its tables of members whose description is empty. */
  bareMembers: string[];
}

const FENCE = /```ts\n([\s\S]*?)\n```/g;
/** The first line of a table without its second column, and a row without text in that column. */
const BARE = [/^\| Member \|$/, /^\| `.*` \| +(\||Throws)/];

/** The exports on the page, in its order. */
export function shownExports(page: string): ShownExport[] {
  const shown: ShownExport[] = [];
  let [module, group] = ["", ""];
  for (const section of page.split(/^(?=#{2,4} )/m)) {
    const [, level = "", title = ""] = /^(#+) (.*)/.exec(section) ?? [];
    if (level === "##") module = title;
    else if (level === "###") group = title.replace(/ of .*/, "");
    else if (level === "####") shown.push(shownExport(module, title, group, section));
  }
  return shown;
}

function shownExport(module: string, name: string, group: string, section: string): ShownExport {
  const blocks = [...section.matchAll(FENCE)].map(([, code = ""]) => code);
  const lines = section.replace(FENCE, "").split("\n").slice(1);
  return {
    module,
    name,
    group,
    description: lines.filter((line) => line !== "" && !/^[|#]/.test(line)).join("\n"),
    // The other blocks are declarations.
    examples: blocks.filter((code) => code.startsWith("import ")),
    bareMembers: lines.filter((line) => BARE.some((pattern) => pattern.test(line))),
  };
}
