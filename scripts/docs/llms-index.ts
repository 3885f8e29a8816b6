/** llms.txt: the index of the documents for language models, in the form of llmstxt.org. */
import { code } from "./markdown.ts";

const SECTIONS: readonly { title: string; folder: string }[] = [
  { title: "Documents", folder: "docs/" },
  { title: "Guides", folder: "docs/guides/" },
  { title: "Reference", folder: "docs/reference/" },
];

/** @param pages every document by path, with its text */
export function llmsIndex(pages: readonly (readonly [path: string, text: string])[]): string {
  const readme = pages.find(([path]) => path === "README.md")?.[1] ?? "";
  const intro = /^# .+\n\n([\s\S]*?)\n\n/.exec(readme)?.[1] ?? "";
  const quote = intro.split("\n").map((line) => `> ${line}`);
  const start = `Start with ${code("npx millrace init my-flows")}; files of flows import from ${code("millrace")}.`;
  const sections = SECTIONS.map(({ title, folder }) => `## ${title}\n\n${linesOf(pages, folder).join("\n")}`);
  return `${["# Millrace", quote.join("\n"), start, ...sections].join("\n\n")}\n`;
}

function linesOf(pages: readonly (readonly [path: string, text: string])[], folder: string): string[] {
  const own = pages.filter(([path]) => path.endsWith(".md") && path.slice(0, path.lastIndexOf("/") + 1) === folder);
  return own.map(([path, text]) => `- [${headingOf(text) ?? path}](${path})${firstSentence(text)}`).sort();
}

function headingOf(text: string): string | undefined {
  return /^# (.+)$/m.exec(text)?.[1];
}

/** The first sentence below the heading, if a paragraph of plain text follows the heading. */
function firstSentence(text: string): string {
  const paragraph = /^# .+\n\n([A-Z`[][\s\S]*?)(?:\n\n|$)/m.exec(text)?.[1] ?? "";
  const sentence = /^[\s\S]*?[.:](?=\s|$)/.exec(paragraph)?.[0] ?? "";
  const plain = sentence.replaceAll("\n", " ").replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1");
  return plain === "" ? "" : `: ${plain.replace(/:$/, ".")}`;
}
