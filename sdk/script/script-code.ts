import type { Millrace } from "../client/index.ts";
import { FlowCalls } from "../engine/flow-calls.ts";
import type { CodeKeeper, CodePlace, Ended, FlowFacts } from "../engine/user-thread-api.ts";
import { Gauges } from "../execution/gauges.ts";
import type { ReportItem } from "../execution/report-item.ts";
import type { LoadedFlow } from "../modules/load-module.ts";
import { echoLine, isStreamLine } from "./log-echo.ts";

/** Shared by all runs of this script. */
export const gauges = new Gauges();

/**
 * The script as the place where the code of its run executes. It cannot be ended: code that does not stop is abandoned, and its
 * later actions are not recorded.
 */
export class ScriptCode implements CodeKeeper, CodePlace {
  readonly gauges = gauges;
  readonly importError = null;
  readonly alive = true;
  readonly api: CodePlace["api"];
  onItems: (items: ReportItem[]) => void = () => undefined;
  readonly #calls: FlowCalls;
  #left = Promise.withResolvers<Ended>();

  constructor(flow: LoadedFlow, home: string, client: Millrace) {
    const post = (items: ReportItem[]): void => {
      for (const item of items) {
        if (item.kind === "logs") for (const line of item.logs) if (!isStreamLine(line)) echoLine(line);
      }
      this.onItems(items);
    };
    const { module } = flow.registration;
    this.#calls = new FlowCalls([flow], { module, home, connect: () => Promise.resolve(client), post });
    this.api = this.#calls;
  }

  get thread(): CodePlace {
    return this;
  }

  find(): FlowFacts | undefined {
    return this.#calls.facts()[0];
  }

  answered<T>(call: Promise<T>): Promise<T | Ended> {
    return Promise.race([call, this.#left.promise]);
  }

  async terminate(): Promise<void> {
    this.#calls.abandon();
    this.#left.resolve({ kind: "ended", cause: "the function did not stop", details: {} });
  }

  async replace(): Promise<string | null> {
    this.#left = Promise.withResolvers<Ended>();
    return null;
  }
}
