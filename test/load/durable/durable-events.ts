/** Events of the reports of durable runs, and the waits that they arm, as JSON text. All texts are ASCII. */
import { nowUs } from "../engine-protocol.ts";
import { type SeededRandom, uuidV7 } from "../random.ts";

/** A step's result of a hundred bytes. */
const VALUE = asciiText({
  rows: 1_204,
  from: "warehouse",
  total: 88_412.5,
  checked: true,
  note: "against the total of yesterday's orders",
});
const PLACE = identity("b", 0);

/** Number of the first event after a run's beginning. */
export const FIRST_SEQ = 3;

export function beginning(): string {
  return [move(1, "Pending"), move(2, "Running")].join(",");
}

export function completion(seq: number): string {
  return move(seq, "Completed");
}

/** A task that completes as it begins; `stored`: its result is a step. The next free number is five higher. */
export function task(random: SeededRandom, seq: number, number: number, stored: boolean): string {
  const id = uuidV7(random, Date.now());
  const named = `"name":"step","task_key":"step","dynamic_key":"step-${number}","parents":[]`;
  const events = [`{"seq":${seq},"kind":"task_run_created","external_id":"${id}",${named}}`];
  for (const [index, type] of ["Pending", "Running", "Completed"].entries()) {
    const state = `{"type":"${type}","name":"${type}","message":null,"details":{},"timestamp":${nowUs()}}`;
    events.push(`{"seq":${seq + 1 + index},"kind":"task_run_transition","external_id":"${id}","state":${state},"force":false}`);
  }
  if (stored) {
    const step = `"identity":"${identity("a", number)}","place":"${PLACE}","name":"step","task_run_external_id":"${id}"`;
    events.push(`{"seq":${seq + 4},"kind":"step",${step},"value":${JSON.stringify(VALUE)}}`);
  }
  return events.join(",");
}

/** Numbers that a task takes. */
export const TASK_SEQS = 5;

/** The one wait of a run that sleeps. */
export function sleepUntil(dueUs: number): object {
  return { kind: "sleep", identity: identity("c", 0), place: PLACE, name: "sleep", until: dueUs };
}

/** The run leaves its engine for that wait. */
export function park(seq: number): string {
  const progress = '{"attempt":1,"times":[],"ran_us":1000}';
  return `{"seq":${seq},"kind":"park","timestamp":${nowUs()},"waits":["${identity("c", 0)}"],"progress":${progress}}`;
}

function move(seq: number, type: string): string {
  const state = `{"type":"${type}","name":"${type}","message":null,"details":{},"timestamp":${nowUs()}}`;
  return `{"seq":${seq},"kind":"run_transition","state":${state}}`;
}

function identity(kind: string, number: number): string {
  return number.toString(16).padStart(32, kind);
}

function asciiText(value: object): string {
  return JSON.stringify(value);
}
