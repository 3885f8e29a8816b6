/** The steps of one attempt of a durable run: those that are stored, and those that the attempt adds. */
import { STEP_BYTES_MAX, STEP_INLINE_BYTES_MAX } from "#protocol/limits";
import type { Step } from "#protocol/records/durable";
import { describeFailure } from "../execution/failure.ts";
import type { ReportItem, StepReported } from "../execution/report-item.ts";
import type { DurableServices } from "./durable-services.ts";
import { belongingTo, type CallIdentity } from "./identity.ts";
import type { OutcomeOrder, StoredAt } from "./outcome-order.ts";
import { type ResultFile, readResultFile, writeResultFile } from "./result-files.ts";
import { decodeValue, encodeValue } from "./values.ts";

/** How a stored step ended. `taskRun` did the work, in the run `runId`. */
export type StoredOutcome = { taskRun: string | null; runId: number } & ({ value: unknown } | { thrown: unknown });

/** The result of a step on its way to the store. */
export type StorableResult = Pick<StepReported, "value" | "file">;

/** The step that a task calls. */
export interface StepCall extends CallIdentity {
  name: string;
  /** What happens if this call has no stored result but another call at this place has. */
  onChange: "run" | "fail";
}

export interface StepsPort {
  services: DurableServices;
  home: string;
  runId: number;
  lineageId: number;
  attempt: number;
  order: OutcomeOrder;
  report(item: ReportItem): void;
  warn(text: string): void;
}

/**
 * Thrown for a call without a stored result where other calls of the task are stored, if the task has `onChange: "fail"`.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, sleep, task } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * let calls = 0;
 * const pay = task("pay", { onChange: "fail" }, async (amount: number) => amount);
 * const order = flow("order", { durable: true }, async () => {
 *   // A mistake: the argument differs when the flow begins again after its wait.
 *   calls += 1;
 *   await pay(calls);
 *   await sleep("1h");
 * });
 *
 * const { state } = await runFlow(order);
 * assert.equal(state.details["exception"], "StepChangedError");
 * ```
 */
export class StepChangedError extends Error {
  override readonly name = "StepChangedError";
}

/** A step on its way to the store. */
interface Reported {
  /** Resolves when the call ends. */
  committed: PromiseWithResolvers<void>;
  /** Resolves when the engine knows what became of the step. */
  told: PromiseWithResolvers<void>;
}

/** What a stored failure begins with; values begin otherwise. */
const FAILED = '{"$":"failed","v":';

/** Where the arguments of a step are named in a message, the longest part. */
const SHOWN_CHARS = 8;

export class StoredSteps {
  readonly #port: StepsPort;
  readonly #stored = new Map<string, Step>();
  /** Steps from before the attempt that no call has asked for yet, by place. */
  readonly #unasked = new Map<string, Set<string>>();
  /** Steps that were reported and are not committed yet. */
  readonly #reported = new Map<string, Reported>();
  /** Calls that have not ended, because the same key may be asked for twice. */
  readonly #underWay = new Map<string, Promise<void>>();
  readonly #warned = new Set<string>();

  constructor(port: StepsPort) {
    this.#port = port;
  }

  /** Reads what is stored, at the begin of the attempt. */
  async load(): Promise<void> {
    for (const step of await this.#port.services.steps()) {
      this.#stored.set(step.identity, step);
      const unasked = this.#unasked.get(step.place) ?? new Set();
      this.#unasked.set(step.place, unasked.add(step.identity));
    }
  }

  /** Whether nothing is stored, so that no call finds anything. */
  get isEmpty(): boolean {
    return this.#stored.size === 0;
  }

  /** Begins a call, after an earlier one of the same identity has ended; call the returned function at its end. */
  async begin({ identity }: StepCall): Promise<() => void> {
    for (let other = this.#underWay.get(identity); other !== undefined; other = this.#underWay.get(identity)) await other;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#underWay.set(identity, promise);
    return () => {
      this.#underWay.delete(identity);
      resolve();
    };
  }

  /**
   * How the call ended earlier: its result, or its failure in the same attempt; null if it is to be made.
   * @throws StepChangedError
   */
  async find(call: StepCall): Promise<StoredOutcome | null> {
    const given = this.#port.services.given?.(call.name);
    if (given !== undefined) return { taskRun: null, runId: 0, value: given.value };
    if (this.isEmpty) return null;
    const step = this.#stored.get(call.identity) ?? this.#stored.get(this.#failureOf(call.identity));
    if (step === undefined) {
      await this.#noteChange(call);
      return null;
    }
    this.#unasked.get(step.place)?.delete(step.identity);
    const stored: StoredAt = { atUs: step.created_at, kind: "step", id: step.id };
    const text = await this.#port.order.turn(stored, this.#textOf(step));
    const about = { taskRun: step.task_run_external_id ?? null, runId: step.run_id };
    return text.startsWith(FAILED)
      ? { ...about, thrown: decodeValue(text.slice(FAILED.length, -1)) }
      : { ...about, value: decodeValue(text) };
  }

  /**
   * The result in its stored form; a large one is written to a file.
   * @throws NotStorableError with the path to the part that cannot be stored; RangeError for a result that is too large
   */
  async prepare(value: unknown): Promise<StorableResult> {
    const text = encodeValue(value);
    const bytes = Buffer.byteLength(text);
    if (bytes <= STEP_INLINE_BYTES_MAX) return { value: text };
    if (bytes > STEP_BYTES_MAX)
      throw new RangeError(
        `the result has ${bytes} bytes, more than the ${STEP_BYTES_MAX} that are stored: write it to a file and return where it is`,
      );
    return { file: await writeResultFile(this.#port.home, text) };
  }

  /** Reports a step that has completed. Resolves once it is committed. */
  commit(call: StepCall, taskRun: string | null, result: StorableResult): Promise<void> {
    return this.#commit(call.identity, call, taskRun, result);
  }

  /**
   * The same for a step that has failed for good: when the attempt continues, the step fails again without a call; another
   * attempt calls it.
   */
  async commitFailure(call: StepCall, taskRun: string | null, thrown: unknown): Promise<void> {
    const value = `${FAILED}${failureText(thrown)}}`;
    // A place of its own, because no call of another attempt asks for it.
    const failed = { ...call, place: belongingTo(call.place, "failed") };
    await this.#commit(this.#failureOf(call.identity), failed, taskRun, { value });
  }

  /** This step is committed: its call ends. */
  settle(identity: string): void {
    const reported = this.#reported.get(identity);
    this.#reported.delete(identity);
    reported?.committed.resolve();
    reported?.told.resolve();
  }

  /** These steps will never be committed. */
  fail(identities: readonly string[], error: string): void {
    for (const identity of identities) {
      const reported = this.#reported.get(identity);
      this.#reported.delete(identity);
      reported?.committed.reject(new Error(`the result of the step could not be stored: ${error}`));
      reported?.told.resolve();
    }
  }

  /** These steps are committed: their calls end in the order of all outcomes. `atUs` is when they were stored, if that is known. */
  async settleInOrder(identities: readonly string[], atUs: number | undefined): Promise<void> {
    for (const [index, identity] of identities.entries()) {
      if (atUs !== undefined) this.#settleIn(identity, { atUs, kind: "step", id: index });
      else await this.#port.order.during(async () => this.#settleIn(identity, await this.#storedAt(identity)));
    }
  }

  #settleIn(identity: string, stored: StoredAt): void {
    this.#reported.get(identity)?.told.resolve();
    void this.#port.order.turn(stored, Promise.resolve()).then(() => this.settle(identity));
  }

  async #storedAt(identity: string): Promise<StoredAt> {
    // The step is stored, although the server cannot be asked: it comes first.
    const { id, created_at } = await this.#port.services.step(identity).catch(() => ({ id: 0, created_at: 0 }));
    return { atUs: created_at, kind: "step", id };
  }

  /** Resolves when the engine knows what became of the steps that are reported now. */
  async told(): Promise<void> {
    await Promise.all([...this.#reported.values()].map(({ told }) => told.promise));
  }

  async #commit(identity: string, { place, name }: StepCall, taskRun: string | null, result: StorableResult): Promise<void> {
    const committed = Promise.withResolvers<void>();
    this.#reported.set(identity, { committed, told: Promise.withResolvers<void>() });
    this.#port.report({ kind: "step", identity, place, name, task_run_external_id: taskRun, ...result });
    await committed.promise;
    const about = { id: 0, run_id: this.#port.runId, task_run_external_id: taskRun, created_at: 0, bytes: 0 };
    // A later call of the same key finds it.
    this.#stored.set(identity, { ...about, identity, place, name, value: result.value ?? null, file: result.file ?? null });
  }

  #failureOf(identity: string): string {
    const { lineageId, attempt } = this.#port;
    return belongingTo(identity, "failed", String(lineageId), String(attempt));
  }

  async #textOf({ identity, name, value, file }: Step): Promise<string> {
    if (value != null) return value;
    if (file != null) return await this.#fileOf(name, file);
    const whole = await this.#port.services.step(identity);
    if (whole.value == null) throw new Error(`the server has no result of step ${identity}`);
    return whole.value;
  }

  /** @throws Error that names the file and says where it should be */
  async #fileOf(name: string, file: ResultFile): Promise<string> {
    try {
      return await readResultFile(this.#port.home, file);
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause);
      const where = "a result this large is a file in the home of the server that stored it, so the engine needs the same home";
      throw new Error(`the stored result of step "${name}" (${file.bytes} bytes) cannot be read: ${detail}; ${where}`, { cause });
    }
  }

  /** A call that is not stored, beside stored calls of its place that are not asked for: the flow or its parameters differ. */
  async #noteChange({ place, name, identity, onChange }: StepCall): Promise<void> {
    if (!this.#hasUnasked(place)) return;
    // Calls of the same turn may still ask for the stored ones.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.#hasUnasked(place)) return;
    const [stored = ""] = this.#unasked.get(place) ?? [];
    const differs = `step "${name}" is called with other arguments or another key (${identity.slice(0, SHOWN_CHARS)}) than the stored step "${name}" (${stored.slice(0, SHOWN_CHARS)}), which no call has asked for`;
    if (onChange === "fail") throw new StepChangedError(differs);
    if (this.#warned.has(place)) return;
    this.#warned.add(place);
    this.#port.warn(`${differs}; it is run. Times and random values belong into steps`);
  }

  #hasUnasked(place: string): boolean {
    return (this.#unasked.get(place)?.size ?? 0) > 0;
  }
}

function failureText(thrown: unknown): string {
  try {
    const text = encodeValue(thrown);
    if (Buffer.byteLength(text) < STEP_INLINE_BYTES_MAX - FAILED.length) return text;
  } catch {
    // It cannot be stored, or it throws when it is read.
  }
  const { message, exception } = describeFailure(thrown);
  return encodeValue(Object.assign(new Error(message), { name: exception }));
}
