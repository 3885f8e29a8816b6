import type { State } from "#protocol/records/state";
import type { Millrace } from "../client/index.ts";
import type { ChildrenHere, StepsStored } from "../durable/durable-services.ts";
import { FlowCalls } from "../engine/flow-calls.ts";
import type { CodeKeeper, CodePlace, Ended, FlowFacts, RunFacts, RunNews } from "../engine/user-thread-api.ts";
import type { AttemptOutcome } from "../execution/attempt.ts";
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
  readonly #calls: FlowCalls;
  #onItems: (items: ReportItem[]) => void = () => undefined;
  #settle: (news: RunNews) => void = () => undefined;

  constructor(flow: LoadedFlow, home: string, client: Millrace, children: ChildrenHere) {
    const { module, source_dir: sourceDir } = flow.registration;
    const post = (news: readonly RunNews[]): void => {
      for (const each of news) this.#take(each);
    };
    const propagation = async () => (await import("../tracing/propagation.ts")).followTraces(sourceDir, false);
    this.#calls = new FlowCalls([flow], { propagation, module, home, children, connect: () => Promise.resolve(client), post });
  }

  get thread(): CodePlace {
    return this;
  }

  find(): FlowFacts | undefined {
    return this.#calls.facts()[0];
  }

  async execute(run: RunFacts, attempt: number, onItems: (items: ReportItem[]) => void): Promise<AttemptOutcome | Ended> {
    const news = await this.#call(onItems, () => this.#calls.take([{ kind: "execute", run, attempt }]));
    if ("outcome" in news) return news.outcome;
    throw new Error("the call of a flow was answered with that of a hook");
  }

  async hook(run: RunFacts, state: State, onItems: (items: ReportItem[]) => void): Promise<string | null | Ended> {
    const news = await this.#call(onItems, () => this.#calls.take([{ kind: "hook", run, state }]));
    return "hook" in news ? news.hook.error : null;
  }

  stop(run: number, seconds: number | null): void {
    this.#calls.take([{ kind: "stop", run, seconds }]);
  }

  stored(run: number, steps: StepsStored): void {
    this.#calls.take([{ kind: "stored", run, steps }]);
  }

  abandon(run: number): void {
    this.#calls.take([{ kind: "abandon", run }]);
  }

  /** The caller executes on the same thread. */
  async responds(): Promise<boolean> {
    return true;
  }

  async terminate(): Promise<void> {}

  async ready(): Promise<CodePlace> {
    return this;
  }

  retire(): void {}

  #call(onItems: (items: ReportItem[]) => void, start: () => void): Promise<RunNews> {
    this.#onItems = onItems;
    return new Promise((settle) => {
      this.#settle = settle;
      start();
    });
  }

  #take(news: RunNews): void {
    // A script records no traces.
    if ("note" in news) return;
    if (!("items" in news)) return this.#settle(news);
    for (const item of news.items) {
      if (item.kind === "logs") for (const line of item.logs) if (!isStreamLine(line)) echoLine(line);
    }
    this.#onItems(news.items);
  }
}
