/** Deliberate bugs of the server's half of exchanges: one for each rule that the server keeps for engines with slots. */
import type { Engine } from "#actors/core/state/engine";
import type { Flow } from "#actors/core/state/flow";
import { FormerProcesses } from "#actors/core/state/former-processes";
import { LiveState } from "#actors/core/state/live-state";
import { isEnded, type Run } from "#actors/core/state/run";
import { WorkQueue } from "#actors/core/state/work-queue";
import { EnginePool } from "#actors/dispatcher/engines/engine-pool";
import type { ReportEvent } from "#protocol/records/engine";
import type { ExchangeReport, ExchangeRequest } from "#protocol/records/exchange";
import { type CommandLike, type Method, type Mutation, meddle, replace, replaceBodies, rewrite } from "./mutation-tools.ts";

/** Messages after which runs may crash. */
const CRASHING = ["Exchange", "EngineGone"];

const CRASHED: ReportEvent = {
  kind: "run_transition",
  seq: 1,
  state: { type: "Crashed", name: "Crashed", timestamp: 1, message: null, details: {} },
};

type Body = Pick<ExchangeRequest, "engine_id" | "exchange" | "held" | "reports" | "slots">;

function bodyOf({ body }: CommandLike): Body {
  return JSON.parse(String(body)) as Body;
}

/** Changes what the server knows of the engine of an exchange, before it handles the exchange. */
function meddleWithExchange(change: (engine: Engine, body: Body, runs: Run[], uptimeUs: number) => void): () => void {
  return meddle(["Exchange"], (state, message) => {
    const body = bodyOf(message);
    const engine = state.engines.get(body.engine_id);
    if (engine !== undefined) change(engine, body, runsOf(engine), state.uptimeUs());
    return undefined;
  });
}

/** Changes what the server knows of an engine whose process has ended, before it handles the end. */
function meddleWithEnd(change: (engine: Engine, runs: Run[]) => void): () => void {
  return meddle(["EngineGone"], (state, message) => {
    const engine = state.engines.get((message as unknown as { engine_id: string }).engine_id);
    if (engine !== undefined) change(engine, runsOf(engine));
    return undefined;
  });
}

/** Changes what runs that may crash with this message know of an uncounted crash before; those that go on know it again after. */
function meddleWithCrashes(uncounted: boolean): () => void {
  return meddle(CRASHING, (state, message) => {
    const runs = mayCrash(state, message).filter((run) => run.uncounted !== uncounted);
    for (const run of runs) run.uncounted = uncounted;
    return () => {
      for (const run of runs) if (!isEnded(run)) run.uncounted = !uncounted;
    };
  });
}

/** The runs of an engine whose process has ended, or those that an exchange reports as crashed. */
function mayCrash(state: LiveState, message: CommandLike): Run[] {
  if (message.kind === "EngineGone") {
    const engine = state.engines.get((message as unknown as { engine_id: string }).engine_id);
    return engine === undefined ? [] : runsOf(engine);
  }
  const crashed = bodyOf(message).reports.filter(({ events }) =>
    events.some((event) => event.kind === "run_transition" && event.state.type === "Crashed"),
  );
  return crashed.flatMap(({ run_id }) => state.runs.get(run_id) ?? []);
}

function runsOf({ runs }: Engine): Run[] {
  return [...runs.values()];
}

/** Changes the reports of exchanges. */
function replaceReports(change: (report: ExchangeReport) => ExchangeReport): () => void {
  return replaceBodies(["Exchange"], (body) => ({ ...body, reports: (body["reports"] as ExchangeReport[]).map(change) }));
}

function isWrong({ events }: ExchangeReport): boolean {
  return events.some((event) => event.kind === "logs" && !Array.isArray(event.logs));
}

export const EXCHANGE_MUTATIONS: readonly Mutation[] = [
  {
    name: "an exchange is taken after a newer one",
    install: () =>
      meddleWithExchange((engine, { exchange }) => {
        engine.exchange = Math.min(engine.exchange, exchange);
      }),
  },
  {
    name: "a newer exchange does not end a held one",
    install: () =>
      meddleWithExchange((engine) => {
        engine.poll = null;
      }),
  },
  {
    name: "a run that its engine has left is waited for",
    install: () =>
      meddleWithExchange((_engine, { held }, runs, uptimeUs) => {
        for (const run of runs) if (!held.some(({ run_id }) => run_id === run.id)) run.lastContactUs = uptimeUs;
      }),
  },
  {
    name: "a run that was lost with its answer is not given again",
    install: () =>
      meddleWithExchange((_engine, _body, runs) => {
        for (const run of runs) run.acknowledged = true;
      }),
  },
  {
    name: "a refused report refuses its exchange",
    install: () =>
      replaceBodies(["Exchange"], (body) =>
        (body["reports"] as ExchangeReport[]).some(isWrong) ? { ...body, slots: -1 } : body,
      ),
  },
  {
    name: "what is right in a refused report is applied",
    install: () => replaceReports((report) => (isWrong(report) ? { ...report, events: report.events.slice(0, 1) } : report)),
  },
  {
    name: "an engine gets one run more than it has slots",
    install: () => replaceBodies(["Exchange"], (body) => ({ ...body, slots: Number(body["slots"]) + 1 })),
  },
  {
    name: "an exclusive run is given to an engine with runs",
    install: () =>
      replace(WorkQueue.prototype as unknown as Record<"first", Method>, "first", (original) => {
        return function (this: WorkQueue, queue: unknown) {
          return (original as (...values: unknown[]) => unknown).call(this, queue, false);
        } as Method;
      }),
  },
  {
    name: "a run handed back stays with its engine",
    install: () => replaceReports(({ returned: _returned, ...report }) => report),
  },
  {
    name: "reports of exchanges are not deduplicated",
    install: () => {
      let seq = 0;
      return replaceReports((report) => ({
        ...report,
        events: report.events.map((event) => {
          seq += 1;
          return { ...event, seq };
        }),
      }));
    },
  },
  {
    name: "a report under an ended lease counts as one under the newest",
    install: () =>
      meddle(["Exchange"], (state, message) => {
        const body = bodyOf(message);
        const newest = (run: number): number | undefined => state.runs.get(run)?.assignment_id;
        const reports = body.reports.map((report) => ({ ...report, lease: newest(report.run_id) ?? report.lease }));
        message.body = JSON.stringify({ ...body, reports });
        return undefined;
      }),
  },
  {
    name: "an engine is not told what to stop",
    install: () =>
      meddle(["Exchange"], (state, message) => {
        const body = bodyOf(message);
        const held = body.held.filter(({ run_id, lease }) => {
          const run = state.runs.get(run_id);
          return run?.assigned === true && run.assignment_id === lease && run.state.type !== "Cancelling";
        });
        message.body = JSON.stringify({ ...body, held });
        return undefined;
      }),
  },
  {
    name: "one run ends with its engine, the others are forgotten",
    install: () =>
      meddleWithEnd((engine) => {
        engine.runs = new Map([...engine.runs].slice(0, 1));
      }),
  },
  {
    name: "a run that had begun waits again when its engine ends",
    install: () =>
      meddleWithEnd((_engine, runs) => {
        for (const run of runs) {
          run.state = { ...run.state, type: "Scheduled", name: "Scheduled" };
          run.start_time = null;
          run.report_seq = 0;
        }
      }),
  },
  {
    name: "a run that was not begun crashes with its engine",
    install: () =>
      meddleWithEnd((engine) => {
        engine.exchanges = false;
      }),
  },
  {
    name: "a restart forgets which engines exchange",
    sends: (message) => {
      if (message.kind === "Batch")
        rewrite(message, "put_engine", (row) => ["project_key", String(row.get("project_key")).replace(',"exchanges":true', "")]);
      return true;
    },
  },
  {
    name: "a run is repeated although its flow allows no rerun",
    install: () =>
      meddle(CRASHING, (state) => {
        for (const { options } of state.flows.values()) if (options.crashRetries === 0) options.crashRetries = 1;
        return undefined;
      }),
  },
  {
    name: "every crash of a neighbour goes uncounted",
    install: () => meddleWithCrashes(false),
  },
  {
    name: "the first crash of a neighbour counts",
    install: () => meddleWithCrashes(true),
  },
  {
    name: "a run that may have ended its engine shares the next one",
    install: () =>
      replace(WorkQueue.prototype as unknown as Record<"putReady", Method>, "putReady", (original) => {
        return function (this: WorkQueue, run: Run) {
          run.alone = false;
          return (original as (...values: unknown[]) => unknown).call(this, run);
        } as Method;
      }),
  },
  {
    name: "a flow that only the default never repeats shares engines",
    install: () =>
      replace(LiveState.prototype as unknown as Record<"setExclusive", Method>, "setExclusive", () => {
        return ((flow: Flow) => {
          flow.exclusive = flow.options.exclusive ?? flow.options.crashRetries === 0;
        }) as Method;
      }),
  },
  {
    name: "an engine with an exclusive run gets further runs",
    install: () =>
      meddle(["Exchange"], (state, message) => {
        const runs = [...(state.engines.get(bodyOf(message).engine_id)?.runs.values() ?? [])];
        const flows = [...new Set(runs.map(({ flow }) => flow))].filter(({ exclusive }) => exclusive);
        for (const flow of flows) flow.exclusive = false;
        return () => {
          for (const flow of flows) flow.exclusive = true;
        };
      }),
  },
  {
    name: "a run handed back has crashed",
    install: () => replaceReports(({ returned, ...report }) => (returned === true ? { ...report, events: [CRASHED] } : report)),
  },
  {
    name: "one run that will not stop ends its engine with all others",
    install: () =>
      meddle(["DeadlineDue"], (state) => {
        // An engine with a parked request gets no signal, and may be given runs in this step.
        const exchanging = [...state.engines.values()].filter(({ exchanges, poll }) => exchanges && poll === null);
        for (const engine of exchanging) engine.exchanges = false;
        return () => {
          for (const engine of exchanging) engine.exchanges = true;
        };
      }),
  },
  {
    name: "a late request of a former process takes its engine's name back",
    install: () => replace(FormerProcesses.prototype as unknown as Record<"has", Method>, "has", () => () => false),
  },
  {
    name: "names of engines are given again after a restart of the dispatcher",
    install: () => replace(EnginePool.prototype as unknown as Record<"adopt", Method>, "adopt", () => () => undefined),
  },
  {
    name: "the pool starts more engines than it may",
    install: () =>
      meddle(["Tick"], (state) => {
        const { enginesMax } = state.settings;
        (state.settings as { enginesMax: number }).enginesMax = 2 * enginesMax + 2;
        return () => {
          (state.settings as { enginesMax: number }).enginesMax = enginesMax;
        };
      }),
  },
];
