/**
 * The user-code process: imports modules on request and calls their rules, routes and hooks. It ends with its parent. Damage
 * by user code (a loop, an exit, a full heap) is limited to this process.
 */
import { resolve } from "node:path";
import { Worker } from "node:worker_threads";
import { ImportedFiles } from "#sdk/modules/imported-files";
import { type Exported, loadModule } from "#sdk/modules/load-module";
import { followChildren } from "#sdk/output/child-processes";
import { captureConsole } from "#sdk/output/console-capture";
import { captureStreams } from "#sdk/output/stream-capture";
import type { FromChild, LoadedModule, ToChild } from "../messages.ts";
// Preload what flow files import, so that the import time measures only their own code.
import "#sdk/index";
import { Calls } from "./calls.ts";

const WATCH_HEAP_MB = 16;

const channel = takeChannel();
let imported: ImportedFiles | null = null;
const modules = new Map<string, Exported | string>();
const calls = new Calls(modules, process.env["MILLRACE_HOME"] ?? "", channel);

captureConsole();
captureStreams();
followChildren({ capturesOutput: true });
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
  imported ??= new ImportedFiles(sourceDir, (file) => channel({ kind: "Imported", file }));
  const answer = await loadModule(sourceDir, module);
  modules.set(module, answer.error ?? answer);
  const { flows, rules, routes } = answer;
  const loaded: LoadedModule = {
    kind: "Loaded",
    flows: flows.map(({ registration }) => registration),
    rules: rules.map(({ registration }) => registration),
    routes: routes.map(({ registration }) => registration),
    called: hasFunctions(rules) || routes.length > 0 || flows.some(({ registration }) => registration.options.hooks.length > 0),
    files: imported.of(resolve(sourceDir, module)),
    error: answer.error === null ? null : [answer.error, answer.frame].filter(Boolean).join("\n"),
    warnings: answer.error === null ? answer.warnings : [],
  };
  // Declarations of user code may hold any value; only JSON can be stored.
  return JSON.parse(JSON.stringify(loaded)) as LoadedModule;
}

/** The end of the parent also closes the channel, but a busy loop cannot notice that. */
function watchParent(): void {
  const suffix = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
  const options = { workerData: process.ppid, execArgv: [], env: {}, resourceLimits: { maxOldGenerationSizeMb: WATCH_HEAP_MB } };
  new Worker(new URL(`./parent-watch${suffix}`, import.meta.url), options).unref();
}

/** Rules in data without functions need no user-code process. */
function hasFunctions(rules: Exported["rules"]): boolean {
  return rules.some(({ definition }) => definition.fn !== null);
}

/** Only this file may use the channel to the parent: messages of user code would break the protocol. */
function takeChannel(): (message: FromChild) => void {
  const send = process.send?.bind(process);
  Object.defineProperty(process, "send", { value: undefined });
  return (message) => void send?.(message);
}
