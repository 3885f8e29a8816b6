/** The code of the served directory while the server runs: what was found last, and what is new when it is looked through again. */
import type { CodeFound } from "#actors/user-code/messages";
import type { CustomRoute } from "#protocol/custom-route";
import type { Discovery, FlowRegistration } from "../discovery.ts";
import type { UserCodeKeeper } from "./keeper.ts";

export interface ServedCodePorts {
  found(message: CodeFound): void;
  /** Takes one line about what went wrong. */
  complain(line: string): void;
}

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
  discover(): Promise<Discovery> {
    return this.#keeper.discover();
  }

  stop(): void {
    this.#keeper.stop();
  }

  /** Files have changed. What is wrong with them is said here, as there is no screen any more that shows it. */
  async discoverAgain(): Promise<void> {
    try {
      const discovery = await this.#keeper.discover();
      for (const { module, error } of discovery.errors) this.#ports.complain(`${module} could not be used: ${error}`);
      this.take(discovery);
    } catch (cause) {
      this.#ports.complain(`the served directory could not be read: ${cause instanceof Error ? cause.message : String(cause)}`);
    }
  }

  /** Passes on what is new; flows that are as they were stay as they are stored, with what people have changed of them. */
  take(discovery: Discovery): void {
    const errors = discovery.errors.filter(({ partly }) => !partly);
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
    });
  }
}

function nameOf({ project, flow }: FlowRegistration): string {
  return `${project}/${flow}`;
}
