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

/** Changed files that a line names, and flows of each kind of difference; beyond that only their number is given. */
const FILES_NAMED_MAX = 5;
const FLOWS_NAMED_MAX = 5;

/** How the flows of a discovery differ from those before. */
interface FlowDifferences {
  added: FlowRegistration[];
  /** Declared otherwise than before: a schedule, a parameter, an option. */
  changed: FlowRegistration[];
  gone: FlowRegistration[];
}

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
      const differences = this.take(discovery);
      const line = reloadLine(discovery.reloaded.files.length === 0 ? null : this.#reloadOf(discovery), differences);
      if (line !== "") this.#ports.tell(line);
    } catch (cause) {
      this.#ports.complain(`the served directory could not be read: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  }

  /**
   * Passes on the differences, and returns those of flows. Unchanged flows are not registered again, so that changes made by
   * people persist.
   */
  take(discovery: KeptDiscovery): FlowDifferences {
    const errors = discovery.problems.filter(({ kind }) => kind === "file");
    const broken = errors.map(({ module }) => module);
    const former = new Map(this.#flows.map((flow) => [nameOf(flow), flow]));
    const mended = (flow: FlowRegistration): boolean => this.#broken.includes(flow.module);
    const added = discovery.flows.filter((flow) => !former.has(nameOf(flow)));
    const changed = discovery.flows.filter((flow) => {
      const before = former.get(nameOf(flow));
      return before !== undefined && JSON.stringify(before) !== JSON.stringify(flow);
    });
    const registered = new Set([...added, ...changed]);
    const flows = discovery.flows.filter((flow) => registered.has(flow) || mended(flow));
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
    return { added, changed, gone };
  }

  #reloadOf({ reloaded: { files, flows } }: KeptDiscovery): ReloadCode {
    const names = files.slice(0, FILES_NAMED_MAX).map((path) => relative(this.#keeper.dir, path).split(sep).join("/"));
    return { kind: "ReloadCode", files: files.length, names, flows };
  }
}

/** One line about a discovery; empty if nothing that was loaded has changed. */
function reloadLine(reloaded: ReloadCode | null, { added, changed, gone }: FlowDifferences): string {
  const parts: string[] = [];
  if (reloaded !== null) {
    const { files, names, flows } = reloaded;
    const more = files > names.length ? ` and ${files - names.length} more` : "";
    parts.push(`code of ${flows.length} ${flows.length === 1 ? "flow" : "flows"} reloaded: ${names.join(", ")}${more} changed`);
  }
  parts.push(...flowsPart("added", added), ...flowsPart("declared otherwise", changed), ...flowsPart("gone", gone));
  return parts.join("; ");
}

function flowsPart(how: string, flows: readonly FlowRegistration[]): string[] {
  if (flows.length === 0) return [];
  const named = flows.slice(0, FLOWS_NAMED_MAX).map(({ flow, module }) => `${flow} (${module})`);
  const more = flows.length > named.length ? ` and ${flows.length - named.length} more` : "";
  return [`${flows.length === 1 ? "flow" : "flows"} ${how}: ${named.join(", ")}${more}`];
}

/** The list in Settings: the most severe first, limited in length. */
function listed(problems: readonly ModuleProblem[]): CodeProblem[] {
  const grave = problems.toSorted((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind)).slice(0, CODE_PROBLEMS_MAX);
  return grave.map(({ module, kind, error }) => ({ module, kind, error }));
}

function nameOf({ project, flow }: FlowRegistration): string {
  return `${project}/${flow}`;
}
