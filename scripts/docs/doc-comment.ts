/** The parts of a documentation comment. */

export interface DocComment {
  summary: string;
  params: { name: string; text: string }[];
  throws: string[];
  /** Code of the examples, without the fence. */
  examples: string[];
}

const TAG = /(?:^|\s)@(param|throws|returns|example)\b/g;
const ANY_FENCE = /^```[\s\S]*?^```/gm;
const FENCE = /```ts\n([\s\S]*?)\n?```/;

/** Reads a comment from its opening to its closing. Unknown tags stay text. */
export function parseDocComment(comment: string): DocComment {
  const text = comment
    .replace(/^\s*\/\*\*/, "")
    .replace(/\*\/\s*$/, "")
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, ""))
    .join("\n");
  const doc: DocComment = { summary: "", params: [], throws: [], examples: [] };
  // Code holds no tags: blanked, it keeps the positions of the tags around it.
  const prose = text.replace(ANY_FENCE, (block) => " ".repeat(block.length));
  const marks = [...prose.matchAll(TAG)];
  doc.summary = flowing(text.slice(0, marks[0]?.index ?? text.length));
  for (const [index, mark] of marks.entries()) {
    const body = text.slice(mark.index + mark[0].length, marks[index + 1]?.index ?? text.length);
    addTag(doc, mark[1] ?? "", body);
  }
  return doc;
}

function addTag(doc: DocComment, tag: string, body: string): void {
  if (tag === "example") {
    const code = FENCE.exec(body)?.[1];
    if (code === undefined) throw new Error(`an @example holds no \`\`\`ts block: ${body.trim()}`);
    doc.examples.push(code);
  } else if (tag === "throws") doc.throws.push(flowing(body));
  else if (tag === "returns") doc.summary = flowing(`${doc.summary}\n\nReturns ${flowing(body)}`);
  else {
    const [, name = "", text = ""] = /^\s*(\S+)\s*(?:-\s)?([\s\S]*)$/.exec(body) ?? [];
    doc.params.push({ name, text: flowing(text) });
  }
}

/** Joins the lines of a paragraph; lists and code that is set off keep theirs. */
function flowing(text: string): string {
  return text
    .trim()
    .split(/\n{2,}/)
    .map((part) => (/^(- |\| |```| {4})/m.test(part) ? part : part.replace(/\s*\n\s*/g, " ")))
    .join("\n\n")
    .replace(/\{@link (\w+)\}/g, "`$1`");
}
