/**
 * Scenario scripts: lines that start with "> " are commands, the indented lines below each are its trace. Other lines are
 * kept unchanged.
 */
import { LEASE_MANAGER } from "#actors/names";
import { DispatchKit, type Outcome } from "../support/dispatch-kit.ts";
import { create, move, poll, report } from "../support/dispatch-steps.ts";
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
  resources: (kit, _words, resources) => kit.send("PatchSettings", { body: { resources } }),
  pass: (kit, words) => kit.pass(Number(words[0]) * 1e6),
};

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
