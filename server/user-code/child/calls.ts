/** In the user-code process: the open calls, each answered once. */
import { RESULT_BYTES_MAX } from "#protocol/limits";
import { ruleResult } from "#sdk/define/rules/rule";
import { describeFailure } from "#sdk/execution/failure";
import { shared } from "#sdk/execution/shared-state";
import type { Exported } from "#sdk/modules/load-module";
import type { CallAnswer, ChildCall, FromChild } from "../messages.ts";
import { callHook } from "./hook-call.ts";
import { callRoute } from "./route-call.ts";

export class Calls {
  /** Exports of the modules, or why a module could not be imported. */
  readonly #modules: ReadonlyMap<string, Exported | string>;
  readonly #home: string;
  readonly #send: (message: FromChild) => void;
  readonly #underWay = new Map<number, AbortController>();

  constructor(modules: ReadonlyMap<string, Exported | string>, home: string, send: (message: FromChild) => void) {
    this.#modules = modules;
    this.#home = home;
    this.#send = send;
  }

  async start(id: number, call: ChildCall): Promise<void> {
    // During imports, flows and events outside a run are suppressed; called code may use them.
    shared.suppressed = null;
    const controller = new AbortController();
    this.#underWay.set(id, controller);
    let answer: CallAnswer;
    try {
      answer = await this.#perform(call, controller.signal);
    } catch (error) {
      const { message, traceback } = describeFailure(error);
      answer = { type: "failed", error: message };
      // The caller gets the error; the author of the code also gets the stack on standard error.
      if (!controller.signal.aborted) process.stderr.write(`millrace: ${nameOf(call)} threw ${withoutOwnFrames(traceback)}\n`);
    }
    this.#underWay.delete(id);
    this.#send({ kind: "Answer", id, answer });
  }

  abort(id: number): void {
    this.#underWay.get(id)?.abort(new DOMException("the caller no longer waits for the answer", "AbortError"));
  }

  async #perform(call: ChildCall, signal: AbortSignal): Promise<CallAnswer> {
    const exported = this.#modules.get(call.module);
    if (exported === undefined) return { type: "failed", error: `module ${call.module} is not served` };
    if (typeof exported === "string") return { type: "failed", error: `module ${call.module} cannot be imported: ${exported}` };
    switch (call.type) {
      case "rule": {
        const rule = exported.rules.find(({ definition }) => definition.name === call.name);
        const fn = rule?.definition.fn ?? null;
        if (fn === null) break;
        const value = await fn(call.event as never, call.run as never, { signal });
        return { type: "rule", detail: detailOf(value) };
      }
      case "hook": {
        const named = exported.flows.filter(({ definition }) => definition.name === call.flow);
        const flow = named.find(({ registration }) => registration.project === call.project) ?? named[0];
        if (flow === undefined) break;
        return { type: "hook", items: await callHook(flow, call, this.#home, signal) };
      }
      case "route": {
        const { method, path } = call.declared;
        const route = exported.routes.find(({ definition }) => definition.method === method && definition.path === path);
        if (route === undefined) break;
        return { type: "route", response: await callRoute(route.definition, call, signal) };
      }
      default:
        return call satisfies never;
    }
    return { type: "failed", error: `module ${call.module} does not export ${nameOf(call)} any more` };
  }
}

/** The return value of a rule's function, as stored with the firing. */
function detailOf(value: unknown): unknown {
  const text = ruleResult(value);
  const bytes = Buffer.byteLength(text);
  return bytes > RESULT_BYTES_MAX ? { result_bytes: bytes } : (JSON.parse(text) as unknown);
}

const OWN_FILES = new URL(".", import.meta.url).href;

function withoutOwnFrames(traceback: string): string {
  const lines = traceback.split("\n");
  return lines.filter((line) => !line.includes(OWN_FILES) && !line.includes("(node:") && !/at node:/.test(line)).join("\n");
}

function nameOf(call: ChildCall): string {
  if (call.type === "rule") return `rule "${call.name}"`;
  return call.type === "hook" ? `flow "${call.flow}"` : `route ${call.declared.method} ${call.declared.path}`;
}
