/**
 * The process of user code: imports the modules it is told to and calls their rules, routes and hooks. It ends with its
 * parent. Whatever user code does to it (a loop, an exit, a full heap) happens to this process alone.
 */
import { registerHooks } from "node:module";
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { captureConsole } from "#sdk/console-capture";
import { type Exported, loadModule } from "#sdk/load-module";
import type { FromChild, LoadedModule, ToChild } from "../messages.ts";
// What flow files import: loaded here, so that the time for their import is theirs alone.
import "#sdk/index";
import { Calls } from "./calls.ts";

const WATCH_HEAP_MB = 16;

const channel = takeChannel();
/** The user's files as they are loaded. */
const files = new Set<string>();
/** Absolute path of the served directory, with a slash at its end. */
let served = "";
const modules = new Map<string, Exported | string>();
const calls = new Calls(modules, process.env["MILLRACE_HOME"] ?? "", channel);

captureConsole();
noteFiles();
process.on("disconnect", () => process.exit());
process.on("message", (message: ToChild) => void receive(message));
watchParent();
channel({ kind: "Ready" });

async function receive(message: ToChild): Promise<void> {
  switch (message.kind) {
    case "Load":
      return channel(await load(message.sourceDir, message.module));
    case "Call":
      return calls.start(message.id, message.call);
    case "Abort":
      return calls.abort(message.id);
    case "Ping":
      return channel({ kind: "Pong" });
    default:
      return message satisfies never;
  }
}

async function load(sourceDir: string, module: string): Promise<LoadedModule> {
  files.clear();
  served = `${sourceDir}${sep}`;
  const { error, ...exported } = await loadModule(sourceDir, module);
  modules.set(module, error ?? exported);
  const { flows, rules, routes } = exported;
  const loaded: LoadedModule = {
    kind: "Loaded",
    flows: flows.map(({ registration }) => registration),
    rules: rules.map(({ registration }) => registration),
    routes: routes.map(({ registration }) => registration),
    called: hasFunctions(rules) || routes.length > 0 || flows.some(({ registration }) => registration.options.hooks.length > 0),
    files: [...files],
    error,
  };
  // What user code declared may hold anything; what is stored is JSON.
  return JSON.parse(JSON.stringify(loaded)) as LoadedModule;
}

/** Closing the channel is what a parent's end does as well, but a busy loop does not see it. */
function watchParent(): void {
  const suffix = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
  const options = { workerData: process.ppid, execArgv: [], env: {}, resourceLimits: { maxOldGenerationSizeMb: WATCH_HEAP_MB } };
  new Worker(new URL(`./parent-watch${suffix}`, import.meta.url), options).unref();
}

/** What rules in data do needs no process of user code. */
function hasFunctions(rules: Exported["rules"]): boolean {
  return rules.some(({ definition }) => definition.fn !== null);
}

/** The way to the parent is for this file alone: user code that speaks on it would break the protocol. */
function takeChannel(): (message: FromChild) => void {
  const send = process.send?.bind(process);
  Object.defineProperty(process, "send", { value: undefined });
  return (message) => void send?.(message);
}

/** Notes what is loaded, but for this package and installed ones: these do not change while the server runs. */
function noteFiles(): void {
  const own = fileURLToPath(new URL("../../../", import.meta.url));
  const isOfPackage = (path: string): boolean =>
    path.includes(`${sep}node_modules${sep}`) || (path.startsWith(own) && !path.startsWith(served));
  registerHooks({
    load(url, context, next) {
      if (url.startsWith("file:")) {
        const path = fileURLToPath(url);
        if (!isOfPackage(path)) files.add(path);
      }
      return next(url, context);
    },
  });
}
