/**
 * A model of users who plan ahead: they create, put by key, edit, pause and delete schedules, skip fires and remove skips, start and
 * cancel backfills and answer their checks, and accept the clock after it was set.
 */
import type { CommandKind } from "#protocol/wire/command";
import type { CommittedBackfill, CommittedSchedule } from "./checkers/history.ts";
import type { Outcome, Pending, Request } from "./model-gateway.ts";
import type { Random } from "./random.ts";
import type { SimulatedTime } from "./simulated-time.ts";

const SECOND_US = 1_000_000;
/** Maximum of schedules: each holds up to a hundred runs. */
const SCHEDULES_MAX = 5;
const BACKFILL_VALUES_MAX = 24;
/** Many backfills are cancelled right after their creation; later cancels hit half-done ones. */
const REGRET_CHANCE = 0.5;
/** Often a large backfill comes early. */
const FULL_CHANCE = 0.6;
const CATCHUPS = ["skip", "latest", "all"] as const;
/** Keys of PUT; code declares a schedule with the second one too. */
const KEYS = ["nightly", "hourly"];
const ZONES = ["UTC", "Europe/Berlin", "Australia/Lord_Howe"];

const WEIGHTS = {
  create: 6,
  put: 3,
  edit: 2,
  pause: 2,
  resume: 3,
  pauseFlow: 0.5,
  resumeFlow: 0.5,
  delete: 1,
  skipNext: 3,
  skipNamed: 2,
  undo: 2,
  upcoming: 0.5,
  preview: 0.3,
  backfill: 6,
  cancel: 1,
  prefilter: 0.3,
  accept: 0.5,
};

/**
 * Sometimes schedules, one of which fires soon, are left alone for a while after the faults, so that only the clock
 * decides their fires.
 */
const WATCH_CHANCE = 0.25;
/** Longer than the time to its fire, the checker's patience and the time between two of its looks. */
const WATCH_US = 45 * SECOND_US;

export interface PlannerPorts {
  time: SimulatedTime;
  random: Random;
  submit(request: Request, settled: (outcome: Outcome) => void): Pending | null;
  newestFlow(): number;
  schedules(): CommittedSchedule[];
  backfills(): CommittedBackfill[];
  /** Started runs of fires that will not be decided: their schedule is paused, or was deleted before their time. */
  orphans(): number[];
  calm(): boolean;
}

export class ModelPlanners {
  readonly #ports: PlannerPorts;
  readonly #meanPauseUs: number;

  constructor(ports: PlannerPorts) {
    this.#ports = ports;
    this.#meanPauseUs = ports.random.pick([300_000, SECOND_US, 4 * SECOND_US]);
  }

  begin(): void {
    const { time, random } = this.#ports;
    const act = (): void => {
      if (this.#ports.calm()) {
        const isWatched = random.chance(WATCH_CHANCE);
        const watched = { kind: "interval", interval: 3600, anchor: time.nowUs() + 2 * SECOND_US, timezone: "UTC" };
        if (isWatched) this.#ask("CreateSchedule", this.#someFlow(), watched);
        return void time.after(isWatched ? WATCH_US : 0, () => this.#tidyUp());
      }
      this.#act();
      time.after(random.delayUs(this.#meanPauseUs), act);
    };
    time.after(0, act);
    if (random.chance(FULL_CHANCE)) time.after(random.between(0, 2 * SECOND_US), () => this.#backfill(BACKFILL_VALUES_MAX));
  }

  /** Accepts the clock, as a person who has seen the warning. */
  acceptClock(): void {
    this.#ask("AcceptClock", 0, null);
  }

  /** After the faults, no schedule goes on for ever, and no backfill waits for a lost answer. */
  #tidyUp(): void {
    const { time, random } = this.#ports;
    for (const schedule of this.#ports.schedules()) {
      if (schedule.active) this.#ask(random.chance(0.5) ? "PauseSchedule" : "DeleteSchedule", schedule.id, null);
    }
    for (const backfill of this.#ports.backfills()) if (!backfill.prefiltered) this.#ask("CancelBackfill", backfill.id, null);
    // The clock may have been set back by hours, longer than the simulation waits for these runs.
    for (const run of this.#ports.orphans()) this.#ask("CancelRun", run, null);
    time.after(SECOND_US, () => this.#tidyUp());
  }

  #act(): void {
    const { random } = this.#ports;
    const schedule = this.#someSchedule();
    const action = random.weighted(WEIGHTS);
    switch (action) {
      case "create":
        if (this.#ports.schedules().length < SCHEDULES_MAX) this.#ask("CreateSchedule", this.#someFlow(), this.#scheduleBody());
        return;
      case "put":
        return this.#put(schedule.flow);
      case "edit":
        return this.#ask("PatchSchedule", schedule.id, this.#patchBody());
      case "pause":
        return this.#ask("PauseSchedule", schedule.id, null);
      case "resume":
        return this.#ask("ResumeSchedule", schedule.id, null);
      case "pauseFlow":
        return this.#ask("PauseFlow", schedule.flow, null);
      case "resumeFlow":
        return this.#ask("ResumeFlow", schedule.flow, null);
      case "delete":
        return this.#ask("DeleteSchedule", schedule.id, null);
      case "upcoming":
        return this.#ask("ListUpcoming", schedule.flow, { projected: random.below(5) });
      case "accept":
        return this.acceptClock();
      case "preview":
        return this.#ask("PreviewSchedule", 0, { ...this.#spec(), count: 5 });
      default:
        return this.#other(action, schedule);
    }
  }

  #other(
    action: "skipNext" | "skipNamed" | "undo" | "backfill" | "cancel" | "prefilter",
    { id, nextFire, skips }: CommittedSchedule,
  ): void {
    const { random } = this.#ports;
    switch (action) {
      case "skipNext":
        return this.#ask("SkipFires", id, { next: random.between(1, 3), by: random.pick(["ui", "api"]) });
      case "skipNamed":
        return this.#ask("SkipFires", id, { fires: [nextFire ?? this.#ports.time.nowUs()] });
      case "undo":
        return this.#ask("UndoSkip", id, { fire: random.pick([...skips, nextFire ?? 0]) });
      case "backfill":
        return this.#backfill(random.between(1, BACKFILL_VALUES_MAX));
      case "cancel":
        return this.#ask("CancelBackfill", this.#someBackfill(), null);
      case "prefilter":
        return this.#ask("PrefilterBackfill", this.#someBackfill(), { skip: ["2026-01-02", "2026-01-04"] });
    }
  }

  /** Mostly for a flow that has schedules, so that the key is often known. */
  #put(known: number): void {
    const { random } = this.#ports;
    const isNew = this.#ports.schedules().length < SCHEDULES_MAX && random.chance(0.3);
    const flow = isNew ? this.#someFlow() : known;
    const request = { kind: "PutSchedule" as const, target: flow, target_name: random.pick(KEYS), body: this.#scheduleBody() };
    this.#ports.submit({ ...request, waitUs: null, local: true }, () => undefined);
  }

  #scheduleBody(): Record<string, unknown> {
    const { random } = this.#ports;
    const policy = { catchup: random.pick(CATCHUPS), catchup_max: random.between(0, 5), active: random.chance(0.9) };
    return { ...this.#spec(), ...policy };
  }

  /** Fires within the simulation, some only reached when the clock is set. */
  #spec(): Record<string, unknown> {
    const { random, time } = this.#ports;
    const nowUs = time.nowUs();
    const soonUs = nowUs + random.below(30) * SECOND_US;
    const timezone = random.pick(ZONES);
    const kind = random.weighted({ interval: 5, cron: 3, rrule: 2 });
    if (kind === "interval") {
      const interval = Number(random.weighted({ 15: 1, 60: 1, 600: 3, 3600: 4, 86400: 2 }));
      return { kind, interval, anchor: random.chance(0.7) ? soonUs : null, timezone };
    }
    const soon = new Date(nowUs / 1000 + 60_000);
    if (kind === "cron") {
      const minute = soon.getUTCMinutes();
      return { kind, cron: random.pick([`${minute} * * * *`, `*/10 * * * *`, `${minute} */2 * * *`, "0 0 30 2 *"]), timezone };
    }
    const start = new Date(soonUs / 1000).toISOString().replace(/\.\d+/, "").replace(/[-:]/g, "");
    const rule = random.pick(["FREQ=HOURLY", "FREQ=MINUTELY;INTERVAL=15", "FREQ=HOURLY;COUNT=2", "FREQ=DAILY"]);
    return { kind, rrule: `DTSTART:${start}\nRRULE:${rule}` };
  }

  #patchBody(): Record<string, unknown> {
    const { random } = this.#ports;
    const { kind: _kind, ...spec } = this.#spec();
    return random.pick<Record<string, unknown>>([
      {},
      { catchup: random.pick(CATCHUPS) },
      { catchup_max: 2, persist: true },
      { timezone: random.pick(ZONES) },
      spec,
      { cron: "61 * * * *" },
    ]);
  }

  #backfill(days: number): void {
    const { random } = this.#ports;
    const body = {
      parameter: "day",
      start: "2026-01-01",
      end: `2026-01-${String(days).padStart(2, "0")}`,
      concurrency: random.between(1, 4),
      reverse: random.chance(0.3),
      dry_run: random.chance(0.1),
      extra_parameters: random.chance(0.3) ? { x: 7 } : {},
    };
    const regretted = random.chance(REGRET_CHANCE);
    this.#ask("CreateBackfill", this.#someFlow(), JSON.stringify(body), () => {
      if (regretted) this.#ask("CancelBackfill", this.#newestBackfill(), null);
    });
  }

  #someFlow(): number {
    return this.#ports.random.between(1, this.#ports.newestFlow() + 1);
  }

  #someBackfill(): number {
    const { random } = this.#ports;
    return random.pick([...this.#ports.backfills().map(({ id }) => id), 1]);
  }

  #newestBackfill(): number {
    return Math.max(1, ...this.#ports.backfills().map(({ id }) => id));
  }

  #someSchedule(): CommittedSchedule {
    const { random } = this.#ports;
    return random.pick([...this.#ports.schedules(), NO_SCHEDULE]);
  }

  #ask(kind: CommandKind, target: number, body: unknown, settled: () => void = () => undefined): void {
    this.#ports.submit({ kind, target, body, waitUs: null, local: true }, settled);
  }
}

/** Requested sometimes, like other unknown ids. */
const NO_SCHEDULE: CommittedSchedule = {
  id: 999_999,
  flow: 999_999,
  key: null,
  spec: "",
  catchup: "skip",
  catchupMax: 0,
  updatedAt: 0,
  active: false,
  consumedUntil: 0,
  nextFire: null,
  skips: new Set(),
};

/** Schedules that the code of the flow "declared" contains at the server's start: a new choice each time. */
export function declaredSchedules(random: Random, nowUs: number): Record<string, unknown>[] {
  const declarations = [
    { kind: "interval", interval: 3600, anchor: nowUs + 20 * SECOND_US, key: "hourly", catchup: "all", catchup_max: 3 },
    { kind: "interval", interval: 600, key: "often" },
    { kind: "cron", cron: "*/20 * * * *", timezone: "Asia/Kolkata", key: "cron", catchup: "latest" },
    { kind: "rrule", rrule: "DTSTART:20250101T000000Z\nRRULE:FREQ=HOURLY;INTERVAL=3", key: "rule" },
    { kind: "cron", cron: "nonsense", key: "broken" },
  ];
  return declarations.filter(() => random.chance(0.4));
}
