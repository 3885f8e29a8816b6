/**
 * Finds flow files under the served directory and imports them in a child process to learn their flows, rules and routes. A
 * file that fails, hangs or ends its process does no harm to the server: the file is reported, the others are served.
 */

import { existsSync } from "node:fs";
import { opendir, readFile } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import type { DeclaredRule } from "#actors/rule-engine/rules/register-rules";
import { FLOW_MODULE } from "#protocol/flow-module";
import type { CodeProblem } from "#protocol/records/server";
import { routeShape } from "#protocol/routes/custom-route";
import { JOBS_FILE } from "#sdk/modules/jobs-module";
import { type LoadedFile, recordFile } from "#sdk/modules/loaded-file";
import type { Registration, RouteRegistration, RuleRegistration } from "#sdk/modules/registration";
import { LOCK_FILE } from "../operations/home-files.ts";
import type { UserCodeChild } from "../user-code/child-process.ts";
import type { LoadedModule } from "../user-code/messages.ts";

export type FlowRegistration = Registration;

/** A module, or a part of it, that cannot be used. */
export interface ModuleProblem extends CodeProblem {
  source_dir: string;
}

export interface Discovery {
  flows: FlowRegistration[];
  rules: DeclaredRule[];
  routes: RouteRegistration[];
  /** Number of usable schedules of each flow that declares some. */
  schedules: Map<FlowRegistration, number>;
  problems: ModuleProblem[];
  /** One line per limit that cut the search short. */
  warnings: string[];
}

/** A discovery, and the process that can call what was found. */
export interface Discovered {
  discovery: Discovery;
  /** Null when nothing needs to be called. */
  child: UserCodeChild | null;
  /** Modules with functions to be called. */
  called: string[];
  /** All modules that were found. */
  modules: string[];
  /** Loaded files by path: a change of one of them makes the discovery out of date. */
  files: Map<string, LoadedFile>;
  /** Paths of the files loaded for each module that could be imported. */
  filesOf: Map<string, string[]>;
  /** Absolute paths of folders and files where further modules may appear. */
  places: string[];
}

export interface DiscoveryLimits {
  /** Time limit of one module's import, in ms. */
  importMs: number;
  /** Directory levels below the served one. */
  depthMax: number;
  /** Maximum number of files examined. */
  filesMax: number;
}

const DEFAULT_LIMITS: DiscoveryLimits = {
  // An import that connects to something is slow; one that takes longer than this probably hangs.
  importMs: 10_000,
  // Projects nest less deeply; a link or a data directory nests deeper.
  depthMax: 8,
  // Reading this many takes about a second; a directory with more is not a directory of flows.
  filesMax: 5_000,
};

const NOT_A_MODULE = /\.(d|test|spec)\.[cm]?[tj]s$/;
/** The package's name in quotes, as in an import; scripts may mention the name otherwise. */
const NAMES_PACKAGE = /["'`]millrace(?:\/[\w-]+)?["'`]/;
/** Settings without jobs are no module. */
const NAMES_JOBS = /^\s*\[\s*["']?jobs\b|^\s*jobs\b/m;

/**
 * Searches a directory. Files are imported in the order of their paths; a file that defines nothing for Millrace is skipped.
 * Only files that name the package as an import does are imported, so that unrelated scripts are not run.
 *
 * @param start starts a user-code process
 * @param stopped once aborted, no further file is imported
 */
export async function discover(
  dir: string,
  start: () => UserCodeChild,
  limits: DiscoveryLimits = DEFAULT_LIMITS,
  stopped?: AbortSignal,
): Promise<Discovered> {
  const sourceDir = resolve(dir);
  const files = await findModules(sourceDir, limits);
  const { modules } = files;
  const found = new Findings(sourceDir, files.warnings);
  const loadedFiles = new Map<string, LoadedFile>();
  const filesOf = new Map<string, string[]>();
  const called: string[] = [];
  let child: UserCodeChild | null = null;
  for (const module of modules) {
    if (stopped?.aborted) break;
    child ??= await startWith(start, sourceDir, called, limits.importMs);
    const path = join(sourceDir, module);
    if (!loadedFiles.has(path)) loadedFiles.set(path, recordFile(path));
    const loaded = await child.load(sourceDir, module, limits.importMs);
    for (const file of child.files) if (!loadedFiles.has(file.path)) loadedFiles.set(file.path, file);
    if (typeof loaded === "string") {
      found.broken(module, loaded, child.printed);
      child.kill();
      child = null;
      continue;
    }
    await found.add(module, loaded);
    if (loaded.error === null) filesOf.set(module, loaded.files);
    if (loaded.called) called.push(module);
  }
  if (called.length > 0) child ??= await startWith(start, sourceDir, called, limits.importMs);
  else child?.kill();
  return {
    discovery: found.discovery,
    child: called.length > 0 ? child : null,
    called,
    modules,
    files: loadedFiles,
    filesOf,
    places: files.places.filter((place) => !loadedFiles.has(place)),
  };
}

/** Starts a process with these modules. A module that now breaks the process is left out, so that only its own calls fail. */
export async function startWith(
  start: () => UserCodeChild,
  sourceDir: string,
  modules: readonly string[],
  importMs: number = DEFAULT_LIMITS.importMs,
): Promise<UserCodeChild> {
  const broken = new Set<string>();
  for (;;) {
    const child = start();
    const breaks = await firstBroken(child, sourceDir, modules, importMs, broken);
    if (breaks === null) return child;
    child.kill();
    broken.add(breaks);
  }
}

async function firstBroken(
  child: UserCodeChild,
  sourceDir: string,
  modules: readonly string[],
  importMs: number,
  except: ReadonlySet<string>,
): Promise<string | null> {
  for (const module of modules)
    if (!except.has(module) && typeof (await child.load(sourceDir, module, importMs)) === "string") return module;
  return null;
}

interface FoundFiles {
  /** Paths relative to the directory, sorted, with forward slashes. */
  modules: string[];
  /** All examined paths, folders included, absolute. */
  places: string[];
  warnings: string[];
}

export async function findModules(root: string, limits: DiscoveryLimits = DEFAULT_LIMITS): Promise<FoundFiles> {
  const found: FoundFiles = { modules: [], places: [], warnings: [] };
  const open = [{ path: root, depth: 0 }];
  let files = 0;
  for (let place = open.shift(); place !== undefined; place = open.shift()) {
    // Files in a home are written all the time, and are no flow files.
    if (place.depth > 0 && existsSync(join(place.path, LOCK_FILE))) continue;
    const entries = await opendir(place.path);
    found.places.push(place.path);
    for await (const entry of entries) {
      const path = join(place.path, entry.name);
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      if (entry.isDirectory()) {
        if (place.depth < limits.depthMax) open.push({ path, depth: place.depth + 1 });
        else found.warnings.push(`${path} is deeper than ${limits.depthMax} below ${root}: not looked into`);
      } else if (entry.isFile() && entry.name === JOBS_FILE && place.depth === 0) {
        found.places.push(path);
        if (NAMES_JOBS.test(await readFile(path, "utf8").catch(() => ""))) found.modules.push(JOBS_FILE);
      } else if (entry.isFile() && FLOW_MODULE.test(entry.name) && !NOT_A_MODULE.test(entry.name)) {
        files += 1;
        if (files > limits.filesMax) {
          found.warnings.push(
            `${root} holds more than ${limits.filesMax} modules: the rest is not looked at, serve a smaller directory`,
          );
          return sorted(found);
        }
        found.places.push(path);
        if (NAMES_PACKAGE.test(await readFile(path, "utf8").catch(() => "")))
          found.modules.push(relative(root, path).split(sep).join("/"));
      }
    }
  }
  return sorted(found);
}

function sorted(found: FoundFiles): FoundFiles {
  found.modules.sort();
  return found;
}

/** The exports of the modules, checked against each other. */
class Findings {
  readonly discovery: Discovery;
  readonly #sourceDir: string;

  constructor(sourceDir: string, warnings: string[]) {
    this.#sourceDir = sourceDir;
    this.discovery = { flows: [], rules: [], routes: [], schedules: new Map(), problems: [], warnings };
  }

  async add(module: string, { flows, rules, routes, error, warnings }: LoadedModule): Promise<void> {
    if (error !== null) this.#problem(module, "file", error);
    for (const warning of warnings) this.#problem(module, "warning", warning);
    for (const flow of flows) await this.#addFlow(flow);
    for (const rule of rules) await this.#addRule(rule);
    for (const route of routes) this.#addRoute(route);
  }

  broken(module: string, cause: string, printed: string): void {
    this.#problem(module, "file", printed === "" ? cause : `${cause}\n${printed}`);
  }

  /** A flow is identified by project and name; the first module that exports it owns it. */
  async #addFlow(flow: FlowRegistration): Promise<void> {
    const { flows } = this.discovery;
    const earlier = flows.find((known) => known.flow === flow.flow && known.project === flow.project);
    const name = `flow "${flow.project}/${flow.flow}"`;
    if (earlier !== undefined) return this.#problem(flow.module, "part", alreadyExported(name, earlier.module));
    flows.push(flow);
    const { schedules } = flow.options;
    if (schedules.length === 0) return;
    const { scheduleProblems } = await import("./declared-schedules.ts");
    const unusable = scheduleProblems(schedules);
    if (schedules.some((declared) => "parameters" in declared)) {
      // Loaded on demand, with the code of templates.
      const { parameterProblems } = await import("./declared-parameters.ts");
      const { flow: name, project, parameter_schema } = flow;
      unusable.push(...parameterProblems({ name, project, parameter_schema }, schedules));
    }
    this.discovery.schedules.set(flow, schedules.length - unusable.length);
    for (const problem of unusable) this.#problem(flow.module, "part", `${name}: ${problem}`);
  }

  async #addRule({ name, module, spec }: RuleRegistration): Promise<void> {
    const { rules } = this.discovery;
    const earlier = rules.find((known) => known.name === name);
    if (earlier !== undefined) return this.#problem(module, "part", alreadyExported(`rule "${name}"`, earlier.module));
    // Loaded on demand: most directories have no rule in code, and the checks (schedules, templates, schemas) are half of
    // this thread's code.
    const { checkDeclaredSpec } = await import("./declared-rule.ts");
    const checked = checkDeclaredSpec(spec);
    if (checked.ok) rules.push({ name, module, spec: checked.spec });
    else this.#problem(module, "part", `rule "${name}": ${checked.error}`);
  }

  #addRoute(route: RouteRegistration): void {
    const { routes } = this.discovery;
    const shape = routeShape(route.method, route.path);
    const earlier = routes.find((known) => routeShape(known.method, known.path) === shape);
    if (earlier === undefined) routes.push(route);
    else this.#problem(route.module, "part", alreadyExported(`route ${route.method} ${route.path}`, earlier.module, "path"));
  }

  #problem(module: string, kind: ModuleProblem["kind"], error: string): void {
    this.discovery.problems.push({ module, source_dir: this.#sourceDir, kind, error });
  }
}

function alreadyExported(what: string, module: string, identity = "name"): string {
  return `${what} is already exported by ${module}: give one of the two another ${identity}`;
}
