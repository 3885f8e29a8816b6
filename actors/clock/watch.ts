/**
 * The watch over the wall clock. The time since boot counts the sleep of the machine and is set by nobody, so that a change of what
 * lies between the two is a step of the wall clock: by a person, by time synchronisation after a bad battery, by a broken source.
 *
 * A step of more than an hour is announced, and holds up whatever deletes by age until it is accepted or a day has passed on the
 * clock since boot. Until then a trusted time goes on from before the step: it tells how old something is.
 */
import type { ClockRow } from "#storage/load";
import { putOperation } from "#storage/ops";
import { SERVER_LOG } from "../names.ts";
import type { Turn } from "../turn.ts";
import { stepText } from "./step-text.ts";

/** A smaller change is no danger to what is kept for days, and daylight saving wrongly done by hand is one hour. */
export const STEP_MIN_US = 3_600_000_000;
/** Who looks at the server once a day has seen the warning before anything is deleted. */
export const HOLD_US = 86_400_000_000;
/** Looks are far less apart, and a step is far more. */
const NEAR_US = 60_000_000;
/** How often the row is written, so that little of what was waited is forgotten with a reboot. */
const WRITE_EVERY_US = 3_600_000_000;

const NO_STEP = { step: null, stepped_at: null, waited: 0 } as const;

/** A step that nobody has accepted yet. */
export interface OpenStep {
  /** Backwards below 0. */
  stepUs: number;
  /** By the wall clock as it is since the step. */
  noticedUs: number;
  /** Time since boot that is left until it counts as accepted. */
  leftUs: number;
}

export class ClockWatch {
  readonly #boot: string;
  #row: ClockRow | null;
  /** Time since boot, when last looked at. */
  #bootUs = 0;
  /** Time since boot minus the time that the server is up, then: to ask the system for each run would cost too much. */
  #upAfterUs = 0;
  /** The wall clock at the last look, when it was right; a moment that is never near otherwise. */
  #rightUs = Number.NEGATIVE_INFINITY;

  /** `boot` names the host and its boot. */
  constructor(row: ClockRow | null, boot: string) {
    this.#row = row;
    this.#boot = boot;
  }

  /** Time since boot, as of the last look. */
  get bootUs(): number {
    return this.#bootUs;
  }

  get openStep(): OpenStep | null {
    const row = this.#row;
    if (row === null || row.step === null || row.stepped_at === null) return null;
    return { stepUs: row.step, noticedUs: row.stepped_at, leftUs: HOLD_US - this.#waitedUs(row) };
  }

  /** The wall clock, or where it would be without a step that is not accepted. */
  trustedUs(nowUs: number, uptimeUs: () => number): number {
    // The common case, without asking for a further time.
    if (this.#row === null || Math.abs(nowUs - this.#rightUs) < NEAR_US) return nowUs;
    const trustedUs = this.#row.trusted_ahead + this.#upAfterUs + uptimeUs();
    return Math.abs(trustedUs - nowUs) > STEP_MIN_US ? trustedUs : nowUs;
  }

  /** Compares the clocks; part of the regular look of the dispatcher, and of its start. */
  look(turn: Turn): void {
    this.#compare(turn);
    const { nowUs } = turn;
    const aheadUs = nowUs - this.#bootUs;
    const isRight = this.#row !== null && Math.abs(aheadUs - this.#row.trusted_ahead) <= STEP_MIN_US;
    this.#rightUs = isRight ? nowUs : Number.NEGATIVE_INFINITY;
  }

  #compare(turn: Turn): void {
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
    // Corrections below a step are taken over.
    if (row.step === null) this.#write(turn, { ...NO_STEP, trusted_ahead: aheadUs });
    else this.#write(turn, { ...row, waited: this.#waitedUs(row) });
  }

  /** The wall clock is right: what it says now is where a further step is measured from. */
  accept(turn: Turn): void {
    const open = this.openStep;
    if (open !== null) turn.out.send(SERVER_LOG, { level: "info", text: `${stepText(open)}: accepted; retention goes on` });
    this.#write(turn, { ...NO_STEP, trusted_ahead: turn.nowUs - this.#bootUs });
  }

  /** Over a boot only a clock that was set back can be told from a machine that was off. */
  #lookAfterBoot(turn: Turn, row: ClockRow): void {
    const { nowUs } = turn;
    const doubtedUs = row.step === null ? 0 : Math.max(0, row.ahead - row.trusted_ahead);
    const trustedUs = Math.max(row.boot_time + row.trusted_ahead, nowUs - doubtedUs);
    const trusted_ahead = trustedUs - this.#bootUs;
    const backUs = row.wall_time - nowUs;
    if (backUs > STEP_MIN_US) this.#stepped(turn, -backUs, trusted_ahead);
    else this.#write(turn, { ...row, trusted_ahead: row.step === null ? nowUs - this.#bootUs : trusted_ahead });
  }

  #stepped(turn: Turn, stepUs: number, trusted_ahead: number): void {
    const { nowUs } = turn;
    this.#write(turn, { step: stepUs, stepped_at: nowUs, waited: 0, trusted_ahead });
    const text = `${stepText({ stepUs })}; nothing is deleted for its age until \`millrace doctor --accept-clock\``;
    turn.warn(`${text}, or for a day`);
    turn.givenEvent({
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

  #write(turn: Turn, kept: Pick<ClockRow, "trusted_ahead" | "step" | "stepped_at" | "waited">): void {
    const { trusted_ahead, step, stepped_at, waited } = kept;
    const measured = { boot_time: this.#bootUs, wall_time: turn.nowUs, ahead: turn.nowUs - this.#bootUs };
    const row: ClockRow = { boot: this.#boot, ...measured, trusted_ahead, step, stepped_at, waited };
    this.#row = row;
    const clocks = [row.boot, row.boot_time, row.wall_time, row.ahead, trusted_ahead] as const;
    putOperation(turn.decision.ops, "put_clock", 1, ...clocks, step, stepped_at, waited);
  }
}
