/** The pages of docs/ that are generated from the code, and those that embed code. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { cliReference } from "./cli-reference.ts";
import { configurationReference } from "./configuration-reference.ts";
import { fillEmbeds } from "./embeds.ts";
import { eventsReference } from "./events-reference.ts";
import { httpReference } from "./http-reference.ts";
import { mcpReference } from "./mcp-reference.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const MADE = "<!-- Made by `npm run docs`; change the code it is made from. -->";

/** The generated pages, by path from the root. */
const REFERENCE: Readonly<Record<string, () => string>> = {
  "docs/reference/http.md": httpReference,
  "docs/reference/mcp.md": mcpReference,
  "docs/reference/events.md": eventsReference,
  "docs/reference/configuration.md": configurationReference,
  "docs/reference/cli.md": cliReference,
};

function read(path: string): string {
  return readFileSync(`${ROOT}${path}`, "utf8");
}

/** Hand-written pages that may embed code. */
export function writtenPages(): string[] {
  return ["README.md", ...["docs", "docs/guides"].flatMap((folder) => markdownIn(folder))];
}

function markdownIn(folder: string): string[] {
  return readdirSync(`${ROOT}${folder}`)
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`);
}

/** Every page with its expected text. */
export function allPages(): [path: string, text: string][] {
  return [
    ...Object.entries(REFERENCE).map(([path, make]): [string, string] => [path, `${MADE}\n\n${make()}`]),
    ...writtenPages().map((path): [string, string] => [path, fillEmbeds(read(path), read)]),
  ];
}
