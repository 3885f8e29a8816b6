/**
 * Code in guides: a code block after a comment with a file's path contains that file, so that readers copy code that a test
 * runs.
 *
 *     <!-- examples/hello/flows/hello.ts -->
 *     ```ts
 *     ```
 */

const EMBED = /<!-- (examples\/\S+) -->\n```(\w*)\n[\s\S]*?\n?```(?=\n|$)/g;

/** The text, with every such block filled from its file. */
export function fillEmbeds(markdown: string, read: (path: string) => string): string {
  return markdown.replace(EMBED, (_whole, path: string, language: string) => {
    return `<!-- ${path} -->\n\`\`\`${language}\n${read(path).trimEnd()}\n\`\`\``;
  });
}

/** The files that a text embeds. */
export function embeddedFiles(markdown: string): string[] {
  return Array.from(markdown.matchAll(EMBED), ([, path = ""]) => path);
}
