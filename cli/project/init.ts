/** `millrace init`: a folder with a first flow, its test and its settings. It asks nothing and overwrites nothing. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError, EXIT } from "../exit-code.ts";
import { Terminal } from "../terminal/terminal.ts";
import { packageVersion } from "../version.ts";

export interface InitOptions {
  template: string;
}

const TEMPLATES = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../examples/templates/" : "../../../examples/templates/", import.meta.url),
);

const TSCONFIG = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    strict: true,
    noEmit: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    verbatimModuleSyntax: true,
    skipLibCheck: true,
    types: ["node"],
  },
  include: ["flows", "test"],
};

const SETTINGS = `#:schema ../node_modules/millrace/docs/reference/millrace.schema.json
# Settings of the server: node_modules/millrace/docs/reference/configuration.md
`;

/** @throws CommandError for an unknown template, and if a file exists */
export async function init(dir: string, { template }: InitOptions): Promise<number> {
  const names = readdirSync(TEMPLATES).sort();
  if (!names.includes(template)) throw new CommandError(`there is no template "${template}"`, `Known are ${names.join(", ")}.`);
  const folder = resolve(dir);
  const files = new Map([...ownFiles(folder), ...templateFiles(join(TEMPLATES, template))]);
  const existing = [...files.keys()].filter((path) => existsSync(join(folder, path)));
  if (existing.length > 0)
    throw new CommandError(`${folder} has ${existing.join(", ")} already, and nothing is overwritten`, "Name another folder.");
  const out = new Terminal(process.stdout);
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    out.line(join(relative(process.cwd(), folder), path));
  }
  out.line();
  const enter = relative(process.cwd(), folder) === "" ? "" : `cd ${relative(process.cwd(), folder)} && `;
  out.line(`Next: ${enter}npm install && npm test && npx millrace serve flows`);
  return EXIT.ok;
}

function ownFiles(folder: string): [path: string, text: string][] {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "");
  const settings = {
    name: name === "" ? "flows" : name,
    private: true,
    type: "module",
    scripts: { serve: "millrace serve flows", check: "millrace check flows", test: "node --test" },
    dependencies: { millrace: `^${packageVersion()}` },
    devDependencies: { "@types/node": "^22", typescript: "^5.8.0" },
  };
  return [
    ["package.json", json(settings)],
    ["tsconfig.json", json(TSCONFIG)],
    [".gitignore", "node_modules/\n"],
    ["flows/millrace.toml", SETTINGS],
  ];
}

/** Files of a template replace those of every folder, or add to the settings. */
function templateFiles(folder: string): [path: string, text: string][] {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return paths.map((entry) => {
    const path = relative(folder, join(entry.parentPath, entry.name));
    const text = readFileSync(join(folder, path), "utf8");
    return [path, path === "flows/millrace.toml" ? `${SETTINGS}\n${text}` : text];
  });
}

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
