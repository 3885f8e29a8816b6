/** Deliberate bugs of durable runs: at least one for each rule that the server keeps for steps, waits, parks and children. */
import { Deadlines } from "#actors/core/state/deadlines";
import { DurableBook, type Park, type StoredWait } from "#actors/core/state/durable";
import { Ledger } from "#actors/core/state/ledger";
import type { LiveState } from "#actors/core/state/live-state";
import type { Run } from "#actors/core/state/run";
import { Dispatcher } from "#actors/dispatcher/dispatcher";
import type { ExchangeReport } from "#protocol/records/exchange";
import type { Primitive } from "#protocol/wire/feed";
import { type CommandLike, type Method, type Mutation, meddle, replace, replaceMessages, rewrite } from "./mutation-tools.ts";

type Original = (...values: unknown[]) => unknown;

/** Messages after which a parked run may wake. */
const WAKING = ["DeadlineDue", "React", "LookedBack", "WakeRun", "ResumeRun", "Exchange", "Report", "CancelRun"];
const PARKED_NAMES = ["Sleeping", "AwaitingEvent", "AwaitingChild"];

function parkedRuns({ runs }: LiveState): Run[] {
  return [...runs.values()].filter((run) => run.durable?.park != null);
}

/** The run that a command is about, if it is parked. */
function parkedTarget(state: LiveState, message: CommandLike): Run | undefined {
  const run = state.findRun((message as CommandLike & { target: number }).target);
  return run?.durable?.park == null ? undefined : run;
}

/** Replaces a method while the dispatcher handles a message that `applies`. */
function replaceDuring<K extends string>(
  applies: (message: CommandLike) => boolean,
  prototype: Record<K, Method>,
  name: K,
  instead: (original: Original) => Original,
): () => void {
  let isInside = false;
  const restore = [
    replace(Dispatcher.prototype as unknown as Record<"receive", Method>, "receive", (original) => {
      return function (this: unknown, message: CommandLike, out: unknown) {
        isInside = applies(message);
        try {
          return (original as Original).call(this, message, out);
        } finally {
          isInside = false;
        }
      } as Method;
    }),
    replace(prototype, name, (original) => {
      const other = instead(original as Original);
      return function (this: unknown, ...values: unknown[]) {
        return (isInside ? other : (original as Original)).apply(this, values);
      } as Method;
    }),
  ];
  return () => {
    for (const undo of restore) undo();
  };
}

function book<K extends keyof DurableBook & string>(_name: K): Record<K, Method> {
  return DurableBook.prototype as unknown as Record<K, Method>;
}

export const DURABLE_MUTATIONS: readonly Mutation[] = [
  {
    name: "a wait that is armed is armed again",
    install: () =>
      replaceDuring(
        ({ kind }) => kind === "ArmWaits",
        book("find"),
        "find",
        (original) =>
          function (this: unknown, ...values: unknown[]) {
            const wait = original.apply(this, values) as StoredWait | null;
            return wait?.settled_at === null ? null : wait;
          },
      ),
  },
  {
    name: "a wait settles and its parked run sleeps on",
    install: () =>
      meddle(WAKING, (state) => {
        const parks = parkedRuns(state).map((run): [Run, Park] => [run, run.durable?.park as Park]);
        for (const [run, park] of parks) if (run.durable !== null) run.durable.park = { ...park, waits: [] };
        return () => {
          for (const [run, park] of parks) if (run.durable?.park != null) run.durable.park = park;
        };
      }),
  },
  {
    name: "a park does not end with its first wake",
    install: () =>
      meddle(WAKING, (state) => {
        const parks = parkedRuns(state).map((run): [Run, Park] => [run, run.durable?.park as Park]);
        return () => {
          for (const [run, park] of parks) if (run.durable !== null && run.state.name === "Resuming") run.durable.park ??= park;
        };
      }),
  },
  {
    name: "the times of waits are forgotten by a restart of the core",
    install: () => {
      let isStep = false;
      const restore = [
        replace(Dispatcher.prototype as unknown as Record<"receive", Method>, "receive", (original) => {
          return function (this: unknown, message: unknown, out: unknown) {
            isStep = true;
            try {
              return (original as Original).call(this, message, out);
            } finally {
              isStep = false;
            }
          } as Method;
        }),
        replace(Deadlines.prototype as unknown as Record<"addWait", Method>, "addWait", (original) => {
          return function (this: unknown, ...values: unknown[]) {
            if (isStep) (original as Original).apply(this, values);
          } as Method;
        }),
      ];
      return () => {
        for (const undo of restore) undo();
      };
    },
  },
  {
    name: "a restart forgets which runs are parked",
    sends: (message) => {
      if (message.kind === "Batch") rewrite(message, "put_park", () => ["parked", 0]);
      return true;
    },
  },
  {
    name: "events are not looked at for waits",
    install: () => replace(book("awaits"), "awaits", () => () => false),
  },
  {
    name: "an event from before the start of a run settles a wait",
    install: () => replace(book("isCandidate"), "isCandidate", () => () => true),
  },
  {
    name: "a result is acknowledged that is stored under another identity",
    sends: (message) => {
      if (message.kind === "Batch") rewrite(message, "insert_step", (row) => ["identity", reversed(row.get("identity"))]);
      return true;
    },
  },
  {
    name: "an attempt is not told that there are results",
    install: () => replace(book("hasSteps"), "hasSteps", () => () => false),
  },
  {
    name: "a step under a lease that is over is stored",
    install: () =>
      meddle(["Exchange"], (state, message) => {
        const body = JSON.parse(String(message.body)) as { reports: ExchangeReport[] };
        const reports = body.reports.map((report) => ({ ...report, ...overdueSteps(state, report) }));
        message.body = JSON.stringify({ ...body, reports });
        return undefined;
      }),
  },
  {
    name: "a parked run stays with its engine",
    sends: (message) => {
      if (message.kind === "Batch")
        rewrite(message, "update_run", (row) => [
          "assigned",
          PARKED_NAMES.includes(String(row.get("state_name"))) ? 1 : (row.get("assigned") ?? 0),
        ]);
      return true;
    },
  },
  {
    name: "a parked run keeps its resources unasked",
    install: () =>
      replaceDuring(
        ({ kind, body }) => kind === "Exchange" && String(body).includes('"kind":"park"'),
        Ledger.prototype as unknown as Record<"leasesOf", Method>,
        "leasesOf",
        () => () => [],
      ),
  },
  {
    name: "the end of a child does not wake its caller",
    install: () =>
      replace(book("openWait"), "openWait", (original) => {
        return function (this: unknown, id: number) {
          const wait = (original as Original).call(this, id) as StoredWait | undefined;
          return wait?.kind === "child" ? undefined : wait;
        } as Method;
      }),
  },
  {
    name: "a cancel wakes a parked run",
    install: () => {
      let live: LiveState | null = null;
      const restore = [
        meddle(["CancelRun"], (state) => {
          live = state;
          return undefined;
        }),
        replaceMessages((message) => {
          const isParked = message.kind === "CancelRun" && live !== null && parkedTarget(live, message) !== undefined;
          return isParked ? { ...message, kind: "TransitionRun", body: '{"type":"Scheduled","name":"Resuming"}' } : message;
        }),
      ];
      return () => {
        for (const undo of restore.toReversed()) undo();
      };
    },
  },
  {
    name: "the waits of a cancelled run stay open",
    install: () =>
      meddle(["CancelRun"], (state, message) => {
        const lineage = parkedTarget(state, message)?.durable?.lineageId;
        if (lineage != null) state.durable.get(lineage).waits = new Map();
        return undefined;
      }),
  },
  {
    name: "the children of a cancelled run go on",
    install: () =>
      meddle(["CancelRun"], (state, message) => {
        const id = parkedTarget(state, message)?.durable?.lineageId;
        for (const wait of id == null ? [] : state.durable.get(id).waits.values())
          if (wait.kind === "child") wait.spec = JSON.stringify({ on_parent_end: "leave" });
        return undefined;
      }),
  },
];

function reversed(identity: Primitive | undefined): string {
  return [...String(identity)].reverse().join("");
}

/** Only the steps of a report under an ended lease, under the newest lease of the run. */
function overdueSteps({ runs }: LiveState, { run_id, lease, events }: ExchangeReport): Partial<ExchangeReport> {
  const run = runs.get(run_id);
  const steps = events.filter(({ kind }) => kind === "step");
  if (run === undefined || run.assignment_id === lease || steps.length === 0) return {};
  return { lease: run.assignment_id, events: steps.map((step) => ({ ...step, seq: run.report_seq + 1_000 })) };
}
