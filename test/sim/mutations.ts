/**
 * Deliberate bugs, injected from outside one at a time: each shows that the checkers would find it. A mutation replaces
 * methods for the duration of one simulation, or changes messages between the parts.
 */

import { BackfillBook } from "#actors/core/state/backfill";
import { ClockWatch } from "#actors/core/state/clock-watch";
import { Ledger } from "#actors/core/state/ledger";
import type { LiveState } from "#actors/core/state/live-state";
import { OpenReports } from "#actors/core/state/open-reports";
import type { Run } from "#actors/core/state/run";
import { type Schedule, ScheduleBook } from "#actors/core/state/schedule";
import { StepEvents } from "#actors/core/step-events";
import { StepRows } from "#actors/core/step-rows";
import { Dispatcher } from "#actors/dispatcher/dispatcher";
import { TRANSITIONS } from "#actors/dispatcher/states/transition";
import { Scheduler } from "#actors/scheduler/scheduler";
import type { GenerationRequest } from "#actors/store-writer/commit-client";
import type { Batch } from "#storage/write/batch";
import { MemberRow } from "#storage/write/member-row";
import { COMMIT_MUTATIONS } from "./commit-mutations.ts";
import { DURABLE_MUTATIONS } from "./durable-mutations.ts";
import { EXCHANGE_MUTATIONS } from "./exchange-mutations.ts";
import {
  type CommandLike,
  type Method,
  type Mutation,
  replace,
  replaceBodies,
  replaceMessages,
  rewrite,
} from "./mutation-tools.ts";

function withoutLease({ lease: _lease, ...body }: Record<string, unknown>): Record<string, unknown> {
  return body;
}

/** Sends no batch twice. */
function sendOnce(): (message: Batch | GenerationRequest) => boolean {
  const sent = new WeakSet<object>();
  return (message) => {
    if (message.kind !== "Batch") return true;
    if (sent.has(message)) return false;
    sent.add(message);
    return true;
  };
}

export const MUTATIONS: readonly Mutation[] = [
  { name: "stale leases are not refused", install: () => replaceBodies(["TransitionRun", "Report"], withoutLease) },
  {
    name: "use of a resource is a counter that a reload forgets",
    install: () => {
      const counted = new WeakMap<object, Map<string, number>>();
      const restore = [
        replace(Ledger.prototype as unknown as Record<"blocking", Method>, "blocking", (original) => {
          return function (this: Ledger, needs: Record<string, number>) {
            if (!counted.has(this)) counted.set(this, new Map(this.list().map(({ name, used }) => [name, used])));
            return (original as (...values: unknown[]) => unknown).call(this, needs);
          } as Method;
        }),
        replace(Ledger.prototype as unknown as Record<"usedOf", Method>, "usedOf", (original) => {
          return function (this: Ledger, resource: string) {
            const used = (original as (...values: unknown[]) => unknown).call(this, resource) as number;
            return used - (counted.get(this)?.get(resource) ?? 0);
          } as Method;
        }),
      ];
      return () => {
        for (const undo of restore) undo();
      };
    },
  },
  {
    name: "answers leave before the commit",
    sends: (message, server) => {
      if (message.kind !== "Batch") return true;
      server.answerAtOnce(message);
      message.replies = [];
      return true;
    },
  },
  {
    name: "reports are not deduplicated",
    install: () => {
      let seq = 0;
      return replaceBodies(["Report"], (body) => ({
        ...body,
        events: (body["events"] as object[]).map((event) => {
          seq += 1;
          return { ...event, seq };
        }),
      }));
    },
  },
  {
    name: "commands of an older epoch are taken",
    install: () => replaceMessages(({ epoch: _epoch, ...message }) => message),
  },
  {
    name: "unacknowledged batches are not sent again",
    install: () => {
      sentOnce = sendOnce();
      return () => undefined;
    },
    sends: (message) => sentOnce(message),
  },
  {
    name: "the event of a cancel is left out",
    install: () =>
      replace(StepEvents.prototype as unknown as Record<"ofRun", Method>, "ofRun", (original) => {
        return function (this: unknown, name: string, ...rest: unknown[]) {
          if (name !== "run.cancelled") (original as (...values: unknown[]) => unknown).call(this, name, ...rest);
        } as Method;
      }),
  },
  {
    name: "a paused run keeps what it holds",
    install: () => {
      let pausing = false;
      const restore = [
        replace(Dispatcher.prototype as unknown as Record<"receive", Method>, "receive", (original) => {
          return function (this: unknown, message: CommandLike, out: unknown) {
            pausing = message.kind === "TransitionRun" && String(message.body).includes('"type":"Paused"');
            try {
              (original as (...values: unknown[]) => unknown).call(this, message, out);
            } finally {
              pausing = false;
            }
          } as Method;
        }),
        replace(Ledger.prototype as unknown as Record<"leasesOf", Method>, "leasesOf", (original) => {
          return function (this: unknown, run: number) {
            return pausing ? [] : (original as (...values: unknown[]) => unknown).call(this, run);
          } as Method;
        }),
      ];
      return () => {
        for (const undo of restore) undo();
      };
    },
  },
  {
    name: "a later report overtakes one that is applied in slices",
    install: () => replace(OpenReports.prototype as unknown as Record<"putBehind", Method>, "putBehind", () => () => false),
  },
  {
    name: "a paused run may become Pending",
    install: () => {
      const row = TRANSITIONS.Paused as Record<string, string>;
      const cell = row["Pending"] ?? "";
      row["Pending"] = "ok";
      return () => {
        row["Pending"] = cell;
      };
    },
  },
  {
    name: "writers that start again do not say what was decided",
    install: () => replace(MemberRow.prototype as unknown as Record<"commands", Method>, "commands", () => () => []),
  },
  {
    name: "runs of the look-ahead do not wait for their time",
    install: () => replace(ScheduleBook.prototype as unknown as Record<"holds", Method>, "holds", () => () => false),
  },
  {
    name: "PUT of a known key creates another schedule",
    install: () =>
      replace(Scheduler.prototype as unknown as Record<"receive", Method>, "receive", (original) => {
        return function (
          this: { state: LiveState },
          message: CommandLike & { target?: number; target_name?: string },
          out: unknown,
        ) {
          const flow = message.kind === "PutSchedule" ? this.state.flows.get(message.target ?? 0) : undefined;
          const known = flow && this.state.schedules.of(flow).find(({ code_key }) => code_key === message.target_name);
          if (known !== undefined) known.code_key = null;
          (original as (...values: unknown[]) => unknown).call(this, message, out);
          if (known !== undefined) known.code_key = message.target_name ?? null;
        } as Method;
      }),
  },
  { name: "a skip is forgotten when its time has come", install: () => replaceDue((schedule) => schedule.skips.clear()) },
  {
    name: "every missed fire is run, whatever the policy",
    install: () =>
      replaceDue((schedule) => {
        schedule.catchup = "all";
        schedule.catchup_max = 100;
      }),
  },
  {
    name: "a fire is decided again after a restart",
    sends: (message) => {
      // Stores for each schedule that nothing was decided since its creation.
      if (message.kind === "Batch") rewrite(message, "put_schedule", (row) => ["consumed_until", row.get("created_at") ?? null]);
      return true;
    },
  },
  {
    name: "a restart forgets which backfills are being cancelled",
    sends: (message) => {
      if (message.kind === "Batch") rewrite(message, "put_backfill", () => ["cancelled_through", null]);
      return true;
    },
  },
  {
    name: "runs of a backfill that is being cancelled are handed out",
    install: () =>
      replace(BackfillBook.prototype as unknown as Record<"holds", Method>, "holds", () => {
        return function (this: BackfillBook, { backfill_id }: Run) {
          return backfill_id !== null && this.get(backfill_id)?.prefiltered === false;
        } as Method;
      }),
  },
  {
    name: "schedules are looked at when somebody changes them, and by no clock",
    install: () => replace(ScheduleBook.prototype as unknown as Record<"nextDueUs", Method>, "nextDueUs", () => () => null),
  },
  {
    name: "a step of the clock does not suspend deletion by age",
    install: () => {
      const original = Object.getOwnPropertyDescriptor(ClockWatch.prototype, "openStep") as PropertyDescriptor;
      Object.defineProperty(ClockWatch.prototype, "openStep", { ...original, get: () => null });
      return () => void Object.defineProperty(ClockWatch.prototype, "openStep", original);
    },
  },
  {
    name: "crashed runs are not counted",
    install: () =>
      replace(StepRows.prototype as unknown as Record<"countRun", Method>, "countRun", (original) => {
        return function (this: unknown, flow: unknown, from: unknown, to: unknown) {
          if (to !== "Crashed") (original as (...values: unknown[]) => unknown).call(this, flow, from, to);
        } as Method;
      }),
  },
  ...COMMIT_MUTATIONS,
  ...EXCHANGE_MUTATIONS,
  ...DURABLE_MUTATIONS,
];

/** Changes a due schedule before its fires are decided. */
function replaceDue(change: (schedule: Schedule) => void): () => void {
  return replace(ScheduleBook.prototype as unknown as Record<"takeDue", Method>, "takeDue", (original) => {
    return function (this: unknown, nowUs: number) {
      const schedule = (original as (...values: unknown[]) => unknown).call(this, nowUs) as Schedule | undefined;
      if (schedule !== undefined) change(schedule);
      return schedule;
    } as Method;
  });
}

let sentOnce: (message: Batch | GenerationRequest) => boolean = () => true;
