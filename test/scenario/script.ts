/**
 * Scenario scripts: lines that start with "> " are commands, the indented lines below each are its trace. Other lines are
 * kept unchanged.
 */
import { LEASE_MANAGER } from "#actors/names";
import { DispatchKit, type Outcome, START_US } from "../support/dispatch-kit.ts";
import { create, move, poll, report } from "../support/dispatch-steps.ts";
import { arm, type HeldRun, moveOf, parkOf, send } from "../support/durable-steps.ts";
import { traceOf } from "./trace.ts";

type Command = (kit: DispatchKit, words: string[], json: Record<string, unknown>) => Outcome;

const id = (words: string[], index = 0): number => Number(words[index]);
const word = (words: string[], index = 0): string => words[index] ?? "";

/** `name words... {json}`; the JSON holds further fields of the body. */
const COMMANDS: Record<string, Command> = {
  create: (kit, words, json) => create(kit, { flow: word(words), name: word(words, 1), ...json }),
  "create-raw": (kit, _words, json) => kit.send("CreateRun", { body: json }),
  "create-for": (kit, words, json) => kit.send("CreateFlowRun", { target: id(words), body: json }),
  "delete-flow": (kit, words) => kit.send("DeleteFlow", { target: id(words) }),
  poll: (kit, words, json) => poll(kit, word(words), json),
  move: (kit, words, json) => move(kit, id(words), word(words, 1), json),
  report: (kit, words, { events, ...json }) =>
    report(kit, id(words), events as unknown[], { engine_id: word(words, 1), ...json }),
  start: (kit, words) => send(kit, heldOf(words), [moveOf(kit, 1, "Pending"), moveOf(kit, 2, "Running")]),
  arm: (kit, words, json) => arm(kit, heldOf(words), [{ wait: 1, ...json }]),
  park: (kit, words, json) => send(kit, heldOf(words), [parkOf(kit, 3, [1], json)]),
  end: (kit, words) => send(kit, heldOf(words), [moveOf(kit, 4, "Completed")]),
  wake: (kit, words) => kit.send("WakeRun", { target: id(words) }),
  heartbeat: (kit, words, json) => kit.send("Heartbeat", { body: { run_id: id(words), engine_id: word(words, 1), ...json } }),
  cancel: (kit, words) => kit.send("CancelRun", { target: id(words) }),
  delete: (kit, words) => kit.send("DeleteRun", { target: id(words) }),
  resume: (kit, words, json) => kit.send("ResumeRun", { target: id(words), body: json }),
  failed: (kit, words, json) => kit.send("EngineFailed", { body: { engine_id: word(words), source_dir: "/flows", ...json } }),
  gone: (kit, words) => kit.tell({ kind: "EngineGone", engine_id: word(words), cause: null }),
  expire: (kit, words) => kit.notice("Expired", id(words)),
  undelivered: (kit, words) => kit.notice("Undelivered", id(words)),
  acquire: (kit, words, resources) => {
    const body = { run_id: id(words), resources, wait_ms: word(words, 1) === "wait" ? 30_000 : 0 };
    return kit.send("AcquireLease", { body });
  },
  release: (kit, words) => kit.send("ReleaseLease", { body: { run_id: id(words), lease: id(words, 1) } }),
  "expire-lease": (kit, words) => kit.notice("Expired", id(words), LEASE_MANAGER),
  "create-schedule": (kit, words, json) => kit.send("CreateSchedule", { target: id(words), body: json }),
  "patch-schedule": (kit, words, json) => kit.send("PatchSchedule", { target: id(words), body: json }),
  "pause-schedule": (kit, words) => kit.send("PauseSchedule", { target: id(words) }),
  "resume-schedule": (kit, words) => kit.send("ResumeSchedule", { target: id(words) }),
  "delete-schedule": (kit, words) => kit.send("DeleteSchedule", { target: id(words) }),
  skip: (kit, words, json) => kit.send("SkipFires", { target: id(words), body: json }),
  "undo-skip": (kit, words) => kit.send("UndoSkip", { target: id(words), body: { fire: START_US + id(words, 1) * 1e6 } }),
  backfill: (kit, words, json) => kit.send("CreateBackfill", { target: id(words), body: json }),
  "cancel-backfill": (kit, words) => kit.send("CancelBackfill", { target: id(words) }),
  prefilter: (kit, words, json) => kit.send("PrefilterBackfill", { target: id(words), body: json }),
  "create-rule": (kit, _words, json) => kit.send("CreateRule", { body: json }),
  "patch-rule": (kit, words, json) => kit.send("PatchRule", { target: id(words), body: json }),
  "delete-rule": (kit, words) => kit.send("DeleteRule", { target: id(words) }),
  emit: (kit, words, json) => kit.send("EmitEvent", { body: { name: word(words), ...json } }),
  fire: (kit, words, trigger) => fire(kit, id(words), trigger),
  "set-variable": (kit, words, json) => kit.send("CreateVariable", { body: { name: word(words), ...json } }),
  "patch-variable": (kit, words, json) => kit.send("PatchVariable", { targetName: word(words), body: json }),
  "delete-variable": (kit, words) => kit.send("DeleteVariable", { targetName: word(words) }),
  resources: (kit, _words, resources) => kit.send("PatchSettings", { body: { resources } }),
  pass: (kit, words) => kit.pass(Number(words[0]) * 1e6),
};

/** A run, the engine that has it, and its lease. */
function heldOf(words: string[]): HeldRun {
  return { id: id(words), engine: word(words, 1), lease: id(words, 2), item: {} };
}

/** The rule engine's message that a rule fires for the newest event; the JSON holds fields of its trigger. */
function fire(kit: DispatchKit, rule: number, more: Record<string, unknown>): Outcome {
  const { rules } = kit.state;
  const to = rules.nextIds.event - 1;
  const trigger = { event_id: to, name: "a.b", run_id: null, flow_id: null, project: null, depth: 0, ...more };
  const actions = (rules.rules.get(rule)?.spec.do ?? []).map((action, index) => ({ index, kind: action.kind, action }));
  const reaction = { kind: "fire", rule_id: rule, trigger, created_by: null, actions } as const;
  return kit.tell({ kind: "React", core: kit.epoch, from: rules.cursor, to, reactions: [reaction] });
}

/** Runs a script and returns its text with the current traces. */
export function runScript(text: string): string {
  const kit = new DispatchKit();
  const lines: string[] = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("  ")) continue;
    lines.push(line);
    if (line.startsWith("> ")) lines.push(...runCommand(kit, line.slice(2)));
  }
  return lines.join("\n");
}

function runCommand(kit: DispatchKit, line: string): string[] {
  const jsonAt = line.indexOf("{");
  const [name = "", ...words] = (jsonAt < 0 ? line : line.slice(0, jsonAt)).trim().split(/\s+/);
  const command = COMMANDS[name];
  if (command === undefined) throw new Error(`no command is called ${name}: ${line}`);
  const json = jsonAt < 0 ? {} : (JSON.parse(line.slice(jsonAt)) as Record<string, unknown>);
  const outcome = command(kit, words, json);
  const head = outcome.command === 0 ? [] : [`  command #${outcome.command}`];
  return [...head, ...traceOf(outcome)];
}
