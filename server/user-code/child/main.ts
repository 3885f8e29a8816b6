/**
 * The process of user code: imports the modules it is told to and calls their rules, routes and hooks. It ends with its
 * parent. Whatever user code does to it (a loop, an exit, a full heap) happens to this process alone.
 */
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { captureConsole } from "#sdk/console-capture";
import { type Exported, loadModule } from "#sdk/load-module";
import type { FromChild, LoadedModule, ToChild } from "../messages.ts";
import { Calls } from "./calls.ts";

const channel = takeChannel();
const files = watchedFiles();
const modules = new Map<string, Exported | string>();
const calls = new Calls(modules, process.env["MILLRACE_HOME"] ?? "", channel);

captureConsole();
process.on("disconnect", () => process.exit());
process.on("message", (message: ToChild) => void receive(message));

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
  const { error, ...exported } = await loadModule(sourceDir, module);
  modules.set(module, error ?? exported);
  const { flows, rules, routes } = exported;
  const loaded: LoadedModule = {
    kind: "Loaded",
    flows: flows.map(({ registration }) => registration),
    rules: rules.map(({ registration }) => registration),
    routes: routes.map(({ registration }) => registration),
    called: rules.length + routes.length > 0 || flows.some(({ registration }) => registration.options.hooks.length > 0),
    files: [...files],
    error,
  };
  // What user code declared may hold anything; what is stored is JSON.
  return JSON.parse(JSON.stringify(loaded)) as LoadedModule;
}

/** The way to the parent is for this file alone: user code that speaks on it would break the protocol. */
function takeChannel(): (message: FromChild) => void {
  const send = process.send?.bind(process);
  Object.defineProperty(process, "send", { value: undefined });
  Object.defineProperty(process, "disconnect", { value: undefined });
  return (message) => void send?.(message);
}

/** The user's files as they are loaded; the package itself and installed ones do not change while the server runs. */
function watchedFiles(): Set<string> {
  const own = new URL("../../../", import.meta.url).href;
  const found = new Set<string>();
  registerHooks({
    load(url, context, next) {
      if (url.startsWith("file:") && !url.startsWith(own) && !url.includes("/node_modules/")) found.add(fileURLToPath(url));
      return next(url, context);
    },
  });
  return found;
}
