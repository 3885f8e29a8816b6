/**
 * Files of user code with import or export statements are modules, whatever the "type" of their package.json says. Node reads a .ts
 * or .js file as CommonJS where the type is "commonjs", which `npm init` writes, and reads it twice where there is no type.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { compileFunction } from "node:vm";
import { withoutTypes } from "./stripped-types.ts";

const EITHER_KIND = /\.[jt]s$/;
/** A statement of a module at the beginning of a line; one that is only about types is none once the types are stripped. */
const MODULE_STATEMENT =
  /^(?:import\s*(?:[{*"']|(?!type\b)[\w$]+[\s,])|export\s*(?:[{*]|(?:default|const|let|var|async|function|class)\b))/m;
const COMMONJS = /\brequire\s*\(|\bmodule\.exports\b|\bexports\./;
/** What the parser of V8 says about a module that it reads as the body of a function. */
const MODULE_ONLY = /outside a module|Unexpected token 'export'/;
const COMMONJS_PARAMETERS = ["exports", "require", "module", "__filename", "__dirname"];

export function readModulesByTheirSyntax(): void {
  registerHooks({
    load(url, context, next) {
      const isUndecided = context.format == null || context.format.startsWith("commonjs");
      if (!isUndecided || !url.startsWith("file:") || url.includes("/node_modules/")) return next(url, context);
      if (!isModuleOfEitherKind(fileURLToPath(url))) return next(url, context);
      return next(url, { ...context, format: url.endsWith(".ts") ? "module-typescript" : "module" });
    },
  });
}

/** Whether a file whose name leaves its kind open is a module; false if it cannot be read. */
export function isModuleOfEitherKind(path: string): boolean {
  if (!EITHER_KIND.test(path)) return false;
  let source: string;
  try {
    source = readFileSync(path, "utf8");
  } catch {
    return false;
  }
  if (!MODULE_STATEMENT.test(source)) return false;
  // Such a line may stand in a text or a comment of a CommonJS file. Compiling tells, but loads the compiler of TypeScript.
  return !COMMONJS.test(source) || !compilesAsCommonJs(source, path.endsWith(".ts"));
}

function compilesAsCommonJs(source: string, isTypeScript: boolean): boolean {
  const code = isTypeScript ? withoutTypes(source) : source;
  try {
    compileFunction(code ?? source, COMMONJS_PARAMETERS);
    return true;
  } catch (error) {
    return !MODULE_ONLY.test(String(error));
  }
}
