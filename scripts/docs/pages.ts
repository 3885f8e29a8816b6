/** The pages that are generated from the code, those that embed code, and their index. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { cliReference } from "./cli-reference.ts";
import { configurationReference } from "./configuration-reference.ts";
import { fillEmbeds } from "./embeds.ts";
import { eventsReference } from "./events-reference.ts";
import { httpReference } from "./http-reference.ts";
import { llmsIndex } from "./llms-index.ts";
import { mcpReference } from "./mcp-reference.ts";
import { sdkReference } from "./sdk-reference.ts";
import { settingsSchema } from "./settings-schema.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const MADE = "<!-- Made by `npm run docs`; change the code it is made from. -->";

/** The generated pages, by path from the root. */
const REFERENCE: Readonly<Record<string, () => string>> = {
  "docs/reference/http.md": httpReference,
  "docs/reference/mcp.md": mcpReference,
  "docs/reference/events.md": eventsReference,
  "docs/reference/configuration.md": configurationReference,
  "docs/reference/cli.md": cliReference,
  "docs/reference/sdk.md": sdkReference,
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
  const pages = [
    ...Object.entries(REFERENCE).map(([path, make]): [string, string] => [path, `${MADE}\n\n${make()}`]),
    ...writtenPages().map((path): [string, string] => [path, fillEmbeds(read(path), read)]),
  ];
  return [["docs/reference/millrace.schema.json", settingsSchema()], ["llms.txt", llmsIndex(pages)], ...pages];
}
