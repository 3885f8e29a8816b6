/**
 * The clock watch. The time since boot includes sleep of the machine and cannot be set, so a change of the difference between
 * wall clock and time since boot is a step of the wall clock: by a person, by time synchronisation after a bad battery, by a
 * broken source.
 *
 * A step of more than an hour is reported, and suspends everything that deletes by age until a person accepts the step or a
 * day has passed on the clock since boot. Until then, ages are computed from a trusted time, which continues the wall clock
 * from before the step.
 */
import type { Outbox } from "#runtime/effect";
import type { ClockRow } from "#storage/load/load";
import type { RowOf } from "#storage/write/ops";
import { SERVER_LOG } from "../../names.ts";
import { stepText } from "./clock-step-text.ts";

/** Smaller changes do not endanger data that is kept for days, and manual errors with daylight saving are one hour. */
export const STEP_MIN_US = 3_600_000_000;
/** Operators who check the server once a day see the warning before anything is deleted. */
export const HOLD_US = 86_400_000_000;
/** Checks are far less apart than this, and a step is far larger. */
const NEAR_US = 60_000_000;
/** Interval of writing the row, so that a reboot loses little of the waited time. */
const WRITE_EVERY_US = 3_600_000_000;

/** What the watch needs of the step in which it looks (core/turn.ts). */
export interface ClockTurn {
  readonly nowUs: number;
  readonly state: { bootUs(): number; uptimeUs(): number };
  readonly out: Pick<Outbox, "send">;
  readonly rows: { put(name: "put_clock", row: RowOf<"put_clock">): void };
  readonly events: { given(event: SteppedEvent): void };
  warn(text: string): void;
}

interface SteppedEvent {
  name: "clock.stepped";
  run: null;
  flow_id: null;
  resource: object;
  related: readonly object[];
  payload: { before: number; after: number; step_secs: number };
}

const NO_STEP = { step: null, stepped_at: null, waited: 0 } as const;

/** A step that has not been accepted. */
export interface OpenStep {
  /** Negative for a step back. */
  stepUs: number;
  /** By the wall clock after the step. */
  noticedUs: number;
  /** Remaining time since boot until the step counts as accepted. */
  leftUs: number;
}

export class ClockWatch {
  readonly #boot: string;
  #row: ClockRow | null;
  /** Time since boot at the last check. */
  #bootUs = 0;
  /** Time since boot minus server uptime at the last check, because asking the system for each run would cost too much. */
  #upAfterUs = 0;
  /** The wall clock at the last check if it was right; else a value that is never near. */
  #rightUs = Number.NEGATIVE_INFINITY;

  /** `boot` identifies the host and its boot. */
  constructor(row: ClockRow | null, boot: string) {
    this.#row = row;
    this.#boot = boot;
  }

  /** Time since boot at the last check. */
  get bootUs(): number {
    return this.#bootUs;
  }

  get openStep(): OpenStep | null {
    const row = this.#row;
    if (row === null || row.step === null || row.stepped_at === null) return null;
    return { stepUs: row.step, noticedUs: row.stepped_at, leftUs: HOLD_US - this.#waitedUs(row) };
  }

  /** The wall clock; during an unaccepted step, the time it would show without the step. */
  trustedUs(nowUs: number, uptimeUs: () => number): number {
    // The common case, without reading another clock.
    if (this.#row === null || Math.abs(nowUs - this.#rightUs) < NEAR_US) return nowUs;
    const trustedUs = this.#row.trusted_ahead + this.#upAfterUs + uptimeUs();
    return Math.abs(trustedUs - nowUs) > STEP_MIN_US ? trustedUs : nowUs;
  }

  /** Compares the clocks; called by each tick of the dispatcher and at its start. */
  look(turn: ClockTurn): void {
    this.#compare(turn);
    const { nowUs } = turn;
    const aheadUs = nowUs - this.#bootUs;
    const isRight = this.#row !== null && Math.abs(aheadUs - this.#row.trusted_ahead) <= STEP_MIN_US;
    this.#rightUs = isRight ? nowUs : Number.NEGATIVE_INFINITY;
  }

  #compare(turn: ClockTurn): void {
    const { state, nowUs } = turn;
    const bootUs = state.bootUs();
    const aheadUs = nowUs - bootUs;
    this.#bootUs = bootUs;
    this.#upAfterUs = bootUs - state.uptimeUs();
    const row = this.#row;
    if (row === null) return this.#write(turn, { ...NO_STEP, trusted_ahead: aheadUs });
    if (row.boot !== this.#boot) return this.#lookAfterBoot(turn, row);
    const stepUs = aheadUs - row.ahead;
    if (Math.abs(stepUs) > STEP_MIN_US) return this.#stepped(turn, stepUs, row.trusted_ahead);
    if (row.step !== null && this.#waitedUs(row) >= HOLD_US) return this.accept(turn);
    if (bootUs - row.boot_time < WRITE_EVERY_US) return;
    // Smaller corrections are adopted.
    if (row.step === null) this.#write(turn, { ...NO_STEP, trusted_ahead: aheadUs });
    else this.#write(turn, { ...row, waited: this.#waitedUs(row) });
  }

  /** The wall clock is right: later steps are measured from its current value. */
  accept(turn: ClockTurn): void {
    const open = this.openStep;
    if (open !== null) turn.out.send(SERVER_LOG, { level: "info", text: `${stepText(open)}: accepted; retention goes on` });
    this.#write(turn, { ...NO_STEP, trusted_ahead: turn.nowUs - this.#bootUs });
  }

  /**
   * Across a boot, a clock that was set forward cannot be distinguished from a machine that was off; only a step back is
   * detected.
   */
  #lookAfterBoot(turn: ClockTurn, row: ClockRow): void {
    const { nowUs } = turn;
    const doubtedUs = row.step === null ? 0 : Math.max(0, row.ahead - row.trusted_ahead);
    const trustedUs = Math.max(row.boot_time + row.trusted_ahead, nowUs - doubtedUs);
    const trusted_ahead = trustedUs - this.#bootUs;
    const backUs = row.wall_time - nowUs;
    if (backUs > STEP_MIN_US) this.#stepped(turn, -backUs, trusted_ahead);
    else this.#write(turn, { ...row, trusted_ahead: row.step === null ? nowUs - this.#bootUs : trusted_ahead });
  }

  #stepped(turn: ClockTurn, stepUs: number, trusted_ahead: number): void {
    const { nowUs } = turn;
    this.#write(turn, { step: stepUs, stepped_at: nowUs, waited: 0, trusted_ahead });
    const text = `${stepText({ stepUs })}; nothing is deleted for its age until \`millrace doctor --accept-clock\``;
    turn.warn(`${text}, or for a day`);
    turn.events.given({
      name: "clock.stepped",
      run: null,
      flow_id: null,
      resource: { id: "", kind: "server", name: "" },
      related: [],
      payload: { before: nowUs - stepUs, after: nowUs, step_secs: stepUs / 1e6 },
    });
  }

  #waitedUs(row: ClockRow): number {
    return row.waited + Math.max(0, this.#bootUs - row.boot_time);
  }

  #write(turn: ClockTurn, kept: Pick<ClockRow, "trusted_ahead" | "step" | "stepped_at" | "waited">): void {
    const { trusted_ahead, step, stepped_at, waited } = kept;
    const measured = { boot_time: this.#bootUs, wall_time: turn.nowUs, ahead: turn.nowUs - this.#bootUs };
    const row: ClockRow = { boot: this.#boot, ...measured, trusted_ahead, step, stepped_at, waited };
    this.#row = row;
    turn.rows.put("put_clock", { id: 1, ...row });
  }
}
