/** The code of the served directory of a running server: the last discovery, and the differences of each new one. */
import { relative, sep } from "node:path";
import type { ReloadCode } from "#actors/records/records";
import type { CodeFound } from "#actors/user-code/user-code-messages";
import { CODE_PROBLEMS_MAX } from "#protocol/limits";
import type { CodeProblem } from "#protocol/records/server";
import type { CustomRoute } from "#protocol/routes/custom-route";
import type { FlowRegistration, ModuleProblem } from "../discovery/discovery.ts";
import type { KeptDiscovery, UserCodeKeeper } from "./keeper.ts";

/** The most severe first. */
const KINDS: readonly CodeProblem["kind"][] = ["file", "part", "warning"];

export interface ServedCodePorts {
  found(message: CodeFound): void;
  /** Receives one line about a failure. */
  complain(line: string): void;
  /** Receives one line about a normal event. */
  tell(line: string): void;
}

/** Changed files that a line names; beyond that only their number is given. */
const FILES_NAMED_MAX = 5;

export class ServedCode {
  readonly #keeper: UserCodeKeeper;
  readonly #ports: ServedCodePorts;
  /** All flows of the code, including those of modules that currently cannot be imported. */
  #flows: FlowRegistration[] = [];
  #broken: string[] = [];
  routes: CustomRoute[] = [];

  constructor(keeper: UserCodeKeeper, ports: ServedCodePorts) {
    this.#keeper = keeper;
    this.#ports = ports;
  }

  /** At the start: the discovery is shown on the console, and `take` passes it on once the receiving actors run. */
  discover(): Promise<KeptDiscovery> {
    return this.#keeper.discover();
  }

  stop(): void {
    this.#keeper.stop();
  }

  /** Files have changed. Problems are logged, because the console of the start no longer shows them. */
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

  /** Passes on the differences. Unchanged flows are not registered again, so that changes made by people persist. */
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

/** The list in Settings: the most severe first, limited in length. */
function listed(problems: readonly ModuleProblem[]): CodeProblem[] {
  const grave = problems.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)).slice(0, CODE_PROBLEMS_MAX);
  return grave.map(({ module, kind, error }) => ({ module, kind, error }));
}

function nameOf({ project, flow }: FlowRegistration): string {
  return `${project}/${flow}`;
}
