/** Why a module cannot be imported: the place, the code there, and advice. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { describeFailure } from "../execution/failure.ts";
import { isModuleOfEitherKind } from "./module-kind.ts";

export interface ImportFailure {
  /** One line: the place if known, the error, and advice. */
  error: string;
  /** The code around a syntax error with the place marked; empty for other errors. */
  frame: string;
  /** The whole text; its last line is `error`. */
  traceback: string;
}

/** Node's checker takes some 40 ms per file, and the importer waits for it. */
const CHECKED_MAX = 10;
const CHECK_MS_MAX = 5_000;

/** Node can only strip types that leave no code behind; these constructs produce code, so each has a replacement to suggest. */
const INSTEAD: readonly (readonly [unsupported: RegExp, instead: string])[] = [
  [/\benum\b/, 'write an object instead: const Color = { red: "red" } as const'],
  [/\b(namespace|module) declaration/, "write a file of its own, or an object, instead of the namespace"],
  [/parameter propert/, "declare the field in the class and assign it in the constructor"],
  [/import equals|import = |export assignment|export = /, "write import and export of ES modules instead"],
];
const STRIPPED =
  "Node only strips types. Compile the file to JavaScript to keep this syntax, or start Millrace with a loader: NODE_OPTIONS='--import LOADER'";

/** Files of this package, which need no check. */
const OWN_FILES = new URL("../", import.meta.url).href;

/** Files loaded by the current import, in order. */
const loaded: string[] = [];
let watching = false;

/** Starts recording the loaded files: Node does not report which file a JavaScript syntax error is in. */
export function noteLoads(): void {
  loaded.length = 0;
  if (watching) return;
  watching = true;
  registerHooks({
    load(url, context, next) {
      if (url.startsWith("file:") && !url.startsWith(OWN_FILES)) loaded.push(fileURLToPath(url));
      return next(url, context);
    },
  });
}

/** @param directory paths are shown relative to it */
export function importFailure(cause: unknown, directory: string): ImportFailure {
  const { message, traceback } = describeFailure(cause);
  const [first = message] = message.split("\n");
  const place = cause instanceof SyntaxError ? placeOf(cause) : null;
  const file = place === null ? null : shown(place.file, directory);
  const where = place === null ? "" : `${file}:${place.line}:${place.column}: `;
  const advice = adviceFor(cause, first, place?.file ?? loaded.at(-1) ?? null);
  const error = `${where}${first}${advice === null ? "" : ` (${advice})`}`;
  return { error, frame: place === null ? "" : frameOf(place), traceback: `${traceback}\n${error}` };
}

interface Place {
  file: string;
  line: number;
  column: number;
  /** Length of the marked part. */
  length: number;
}

/** The place of a syntax error; null for an error that code threw while it ran. */
function placeOf(error: SyntaxError): Place | null {
  const noted = parsePlace(error.stack ?? "");
  if (noted !== null || /\n\s+at .*\((?:file:|\/)/.test(error.stack ?? "")) return noted;
  for (const file of loaded.slice(-CHECKED_MAX).reverse()) {
    const { status, stderr } = checkSyntax(file);
    const found = status === 0 ? null : parsePlace(stderr ?? "");
    if (found !== null) return found;
  }
  return null;
}

/** By its package alone, Node may take a module for CommonJS: it then reads the module from its standard input. */
function checkSyntax(file: string): { status: number | null; stderr: string | null } {
  const options = { encoding: "utf8", timeout: CHECK_MS_MAX } as const;
  if (!isModuleOfEitherKind(file)) return spawnSync(process.execPath, ["--check", file], options);
  const input = readFileSync(file, "utf8");
  const { status, stderr } = spawnSync(process.execPath, ["--check", "--input-type=module", "-"], { ...options, input });
  return { status, stderr: stderr?.replace(/^\[stdin\](?=:\d+$)/m, () => file) ?? null };
}

/** Node writes `FILE:LINE`, the line (for TypeScript with its neighbours), and marks below it. */
function parsePlace(text: string): Place | null {
  const [head = "", ...rest] = text.split("\n");
  const [, path, line] = /^((?:file:|\/|[A-Za-z]:[\\/]).*):(\d+)$/.exec(head) ?? [];
  const marks = rest.map((each) => /^(\s*)(\^+)\s*$/.exec(each)).find((found) => found !== null);
  if (path === undefined) return null;
  // Nothing is marked where the file ends too early.
  const [, before = "", marked = "^"] = marks ?? [];
  const file = path.startsWith("file:") ? fileURLToPath(path) : path;
  return { file, line: Number(line), column: before.length + 1, length: marked.length };
}

/** The marked line and the one above it, numbered. */
function frameOf({ file, line, column, length }: Place): string {
  const lines = readFileSync(file, "utf8").split("\n");
  const width = String(line).length;
  const numbered = [line - 1, line].filter((number) => number > 0);
  const code = numbered.map((number) => `${String(number).padStart(width)} | ${lines[number - 1] ?? ""}`);
  return [...code, `${" ".repeat(width)} | ${" ".repeat(column - 1)}${"^".repeat(length)}`].join("\n");
}

function shown(file: string, directory: string): string {
  const inside = relative(directory, file);
  return inside.startsWith("..") ? file : inside.split(sep).join("/");
}

function adviceFor(cause: unknown, first: string, file: string | null): string | null {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") {
    const instead = INSTEAD.find(([unsupported]) => unsupported.test(first))?.[1];
    return instead === undefined ? STRIPPED : `${instead}. ${STRIPPED}`;
  }
  if (code === "ERR_UNKNOWN_FILE_EXTENSION") return STRIPPED;
  if (code === "ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING")
    return "Node runs no TypeScript below node_modules: the package has to be published as JavaScript";
  if (code === "ERR_MODULE_NOT_FOUND" && /'[@~#]\/[^']*'/.test(first))
    return 'Node reads no path aliases of tsconfig.json: write a relative path, or name the alias in "imports" of package.json';
  if (cause instanceof SyntaxError && /outside a module|Unexpected token 'export'/.test(first) && file !== null)
    return typeAdvice(file);
  return null;
}

/** Advice on "type" in package.json, which decides the kind of a module; `npm init` writes "commonjs". */
function typeAdvice(file: string): string {
  const name = file.replace(/^.*[\\/]/, "");
  const packageFile = /\.c[jt]s$/.test(name) ? null : nearestPackage(file);
  const add = packageFile === null ? "" : `set "type": "module" in ${packageFile}, or `;
  return `${add}call the file ${name.replace(/\.c?([jt]s)$/, ".m$1")}`;
}

/** The package.json that Node reads for a file, null without one. */
function nearestPackage(file: string): string | null {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const path = join(folder, "package.json");
    if (packageType(path) !== null) return path;
    if (dirname(folder) === folder) return null;
  }
}

/** The `type` of a package.json: "" without the field, null if the file does not exist. */
function packageType(path: string): string | null {
  try {
    const parsed = JSON.parse(readFileSync(path, "utf8")) as { type?: unknown };
    return typeof parsed.type === "string" ? parsed.type : "";
  } catch {
    return null;
  }
}
