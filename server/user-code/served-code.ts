/** The code of the served directory while the server runs: what was found last, and what is new when it is looked through again. */
import { relative, sep } from "node:path";
import type { ReloadCode } from "#actors/records/core";
import type { CodeFound } from "#actors/user-code/messages";
import type { CustomRoute } from "#protocol/custom-route";
import { CODE_PROBLEMS_MAX } from "#protocol/limits";
import type { CodeProblem } from "#protocol/server";
import type { FlowRegistration, ModuleProblem } from "../discovery.ts";
import type { KeptDiscovery, UserCodeKeeper } from "./keeper.ts";

/** The gravest first. */
const KINDS: readonly CodeProblem["kind"][] = ["file", "part", "warning"];

export interface ServedCodePorts {
  found(message: CodeFound): void;
  /** Takes one line about what went wrong. */
  complain(line: string): void;
  /** Takes one line about what went on. */
  tell(line: string): void;
}

/** Changed files that are named; of more, their number says enough. */
const FILES_NAMED_MAX = 5;

export class ServedCode {
  readonly #keeper: UserCodeKeeper;
  readonly #ports: ServedCodePorts;
  /** Every flow of the code, those of modules that cannot be imported at the moment included. */
  #flows: FlowRegistration[] = [];
  #broken: string[] = [];
  routes: CustomRoute[] = [];

  constructor(keeper: UserCodeKeeper, ports: ServedCodePorts) {
    this.#keeper = keeper;
    this.#ports = ports;
  }

  /** At the start: what is found is shown on the screen, and passed on by `take` once there is somebody to take it. */
  discover(): Promise<KeptDiscovery> {
    return this.#keeper.discover();
  }

  stop(): void {
    this.#keeper.stop();
  }

  /** Files have changed. What is wrong with them is said here, as there is no screen any more that shows it. */
  async discoverAgain(): Promise<void> {
    try {
      const discovery = await this.#keeper.discover();
      for (const { module, kind, error } of discovery.problems)
        this.#ports.complain(`${module}${kind === "file" ? " could not be used" : ""}: ${error}`);
      this.take(discovery);
      if (discovery.reloaded.files.length > 0) this.#ports.tell(reloadLine(this.#reloadOf(discovery)));
    } catch (cause) {
      this.#ports.complain(`the served directory could not be read: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  }

  /** Passes on what is new; flows that are as they were stay as they are stored, with what people have changed of them. */
  take(discovery: KeptDiscovery): void {
    const errors = discovery.problems.filter(({ kind }) => kind === "file");
    const broken = errors.map(({ module }) => module);
    const former = new Map(this.#flows.map((flow) => [nameOf(flow), flow]));
    const mended = (flow: FlowRegistration): boolean => this.#broken.includes(flow.module);
    const flows = discovery.flows.filter(
      (flow) => mended(flow) || JSON.stringify(former.get(nameOf(flow))) !== JSON.stringify(flow),
    );
    for (const flow of discovery.flows) former.delete(nameOf(flow));
    const missing = [...former.values()];
    const kept = missing.filter(({ module }) => broken.includes(module));
    const gone = missing.filter(({ module }) => !broken.includes(module));
    this.#flows = [...discovery.flows, ...kept];
    this.#broken = broken;
    this.routes = discovery.routes.map(({ module, ...route }, index) => ({ id: index + 1, ...route, source: module }));
    this.#ports.found({
      kind: "CodeFound",
      flows: { kind: "RegisterFlows", flows, gone, errors },
      rules: { kind: "RegisterRules", rules: discovery.rules, broken },
      routes: this.routes,
      problems: listed(discovery.problems),
      reloaded: discovery.reloaded.files.length === 0 ? null : this.#reloadOf(discovery),
    });
  }

  #reloadOf({ reloaded: { files, flows } }: KeptDiscovery): ReloadCode {
    const names = files.slice(0, FILES_NAMED_MAX).map((path) => relative(this.#keeper.dir, path).split(sep).join("/"));
    return { kind: "ReloadCode", files: files.length, names, flows };
  }
}

function reloadLine({ files, names, flows }: ReloadCode): string {
  const more = files > names.length ? ` and ${files - names.length} more` : "";
  return `code of ${flows.length} ${flows.length === 1 ? "flow" : "flows"} reloaded: ${names.join(", ")}${more} changed`;
}

/** As Settings lists them: the gravest first, and no more than somebody reads. */
function listed(problems: readonly ModuleProblem[]): CodeProblem[] {
  const grave = problems.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)).slice(0, CODE_PROBLEMS_MAX);
  return grave.map(({ module, kind, error }) => ({ module, kind, error }));
}

function nameOf({ project, flow }: FlowRegistration): string {
  return `${project}/${flow}`;
}
