/** The exports of the package's entries, read from its declarations with API Extractor. */
import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BUILT, ensureBuilt } from "../built.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const packageFile = createRequire(import.meta.url);

/** A declaration in the doc model of API Extractor, with the fields that the reference uses. */
export interface ApiItem {
  kind: string;
  /** `millrace!name:kind`; `millrace!~name:kind` for a declaration that is reachable but not exported. */
  canonicalReference: string;
  docComment?: string;
  excerptTokens?: { kind: string; text: string; canonicalReference?: string }[];
  /** The declaration file. */
  fileUrlPath?: string;
  name: string;
  members?: ApiItem[];
}

/** The declarations of the named entries (`sdk/index`), exported or reachable from exports, in the order of the entries. */
export function readApi(entries: readonly string[]): ApiItem[][] {
  const folder = mkdtempSync(join(tmpdir(), "millrace-api-"));
  try {
    writeDeclarations(folder);
    return entries.map((entry) => readEntry(folder, entry));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(script: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(`${script} failed:\n${stdout}\n${stderr}`);
}

/** Where a development dependency is installed. */
function installed(name: string): string {
  return dirname(packageFile.resolve(`${name}/package.json`));
}

function writeDeclarations(folder: string): void {
  ensureBuilt();
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "millrace", type: "module" }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  for (const path of globSync("**/*.d.ts", { cwd: BUILT })) cpSync(join(BUILT, path), join(folder, "dist", path));
}

function readEntry(folder: string, entry: string): ApiItem[] {
  const file = join(folder, "dist", `${entry}.d.ts`);
  const model = join(folder, `${entry.replaceAll("/", "-")}.api.json`);
  const settings = join(folder, "api-extractor.json");
  const none = { default: { logLevel: "none" } };
  writeFileSync(
    settings,
    JSON.stringify({
      projectFolder: folder,
      mainEntryPointFilePath: file,
      newlineKind: "lf",
      compiler: {
        overrideTsconfig: {
          files: [file],
          compilerOptions: {
            target: "es2023",
            lib: ["es2023", "dom"],
            module: "nodenext",
            moduleResolution: "nodenext",
            strict: true,
            skipLibCheck: true,
            types: ["node"],
          },
        },
      },
      apiReport: { enabled: false },
      docModel: { enabled: true, includeForgottenExports: true, apiJsonFilePath: model },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      // The compiler and the tidy tests check what these messages are about.
      messages: { compilerMessageReporting: none, extractorMessageReporting: none, tsdocMessageReporting: none },
    }),
  );
  run(join(installed("@microsoft/api-extractor"), "bin/api-extractor"), ["run", "--local", "-c", settings]);
  const { members } = JSON.parse(readFileSync(model, "utf8")) as { members: ApiItem[] };
  return members.flatMap((entryPoint) => entryPoint.members ?? []).map((item) => withFileComment(folder, item));
}

/** A namespace is a file (`export * as Type from`), so the comment of the file describes the namespace. */
function withFileComment(folder: string, item: ApiItem): ApiItem {
  const file = item.members?.[0]?.fileUrlPath;
  if (item.kind !== "Namespace" || file === undefined) return item;
  const [comment] = /^\/\*\*[\s\S]*?\*\//.exec(readFileSync(join(folder, file), "utf8")) ?? [];
  return comment === undefined ? item : { ...item, docComment: comment };
}
