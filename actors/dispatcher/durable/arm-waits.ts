/**
 * POST /api/runs/{id}/waits: arms waits for a run that an engine holds, all or none. The run of a child is created in the same
 * decision. A wait that is armed already stays as it is, so that the request can be repeated.
 */
import { type Refusal, refuse, refuseStaleLease } from "#protocol/errors";
import { CHILD_DEPTH_MAX, INTEGER_MAX, WAITS_MAX } from "#protocol/limits";
import { ArmWaitsBody, type ChildWait, type NewWait, type Wait, type WaitOutcome } from "#protocol/records/durable";
import { callbackTokenHash } from "#protocol/values/callback-token";
import type { Command } from "#protocol/wire/command";
import { parseBody } from "../../core/command-body.ts";
import type { Secrets } from "../../core/secrets.ts";
import type { Lineage, StoredWait } from "../../core/state/durable.ts";
import type { LiveState } from "../../core/state/live-state.ts";
import type { Run } from "../../core/state/run.ts";
import type { Turn } from "../../core/turn.ts";
import { lackOfRoom } from "../creation/lack-of-room.ts";
import { touchContact } from "../engines/contact.ts";
import { acceptChild, createChild, type NewChild } from "./children.ts";
import { lineageOf } from "./lineages.ts";

export function armWaitsCommand(turn: Turn, command: Command<"ArmWaits">, secrets: Secrets): void {
  const body = parseBody(turn, command, ArmWaitsBody);
  if (body === undefined) return;
  const run = turn.state.findRun(command.target);
  if (run === undefined) return turn.answers.refuse(command, refuse("run_not_found", command.target));
  if (body.lease !== run.assignment_id || !run.assigned) return turn.answers.refuse(command, refuseStaleLease(run.id, run.state));
  const lineage = lineageOf(turn.state, run);
  if (lineage === null || !run.flow.options.durable)
    return turn.answers.refuse(command, refuse("invalid", `flow "${run.flow.name}" is not durable`));
  touchContact(turn, run);
  const fresh = freshOf(turn.state, lineage, body.waits);
  const children = new Map<NewWait, NewChild>();
  const refusal = refuseWaits(turn, run, lineage, fresh, children);
  if (refusal !== null) return turn.answers.refuse(command, refusal);
  if (body.waits.some(({ kind }) => kind === "callback") && !canSign(turn.state, secrets))
    return turn.answers.refuse(
      command,
      refuse("invalid", "a callback needs secret.key, which is missing or not a key: restore the file"),
    );
  for (const wait of fresh) arm(turn, run, lineage, wait, { child: children.get(wait) ?? null, secrets });
  const waits = body.waits.flatMap(({ identity }) => turn.state.durable.find(lineage, identity) ?? []);
  turn.answers.json(command, 200, { waits: waits.map((wait) => waitRecord(turn.state, wait, secrets)) });
}

/** A key that is lost is not replaced while secrets are stored under it. */
function canSign(state: LiveState, secrets: Secrets): boolean {
  return (secrets.present || !state.hasSecrets()) && secrets.sign("") !== null;
}

/** The token of a callback: the same one whenever the flow begins again. */
function tokenOf({ lineage_id, identity }: Pick<StoredWait, "lineage_id" | "identity">, secrets: Secrets): string {
  return secrets.sign(`callback ${lineage_id} ${identity}`) ?? "";
}

/** The waits that are not armed yet, each identity once. One that ended with its lineage is armed again. */
function freshOf({ durable }: LiveState, lineage: Lineage, waits: readonly NewWait[]): NewWait[] {
  const seen = new Set<string>();
  return waits.filter(({ identity }) => {
    if (seen.has(identity)) return false;
    seen.add(identity);
    const known = durable.find(lineage, identity);
    return known === null || (known.settled_at !== null && known.outcome === null);
  });
}

/** Why the waits are refused, or null; the checked children are added to `children`. */
function refuseWaits(
  turn: Turn,
  run: Run,
  lineage: Lineage,
  fresh: readonly NewWait[],
  children: Map<NewWait, NewChild>,
): Refusal | null {
  if (lineage.waits.size + fresh.length > WAITS_MAX)
    return refuse("invalid", `run ${run.id} has more than ${WAITS_MAX} open waits`);
  const called = fresh.filter((wait): wait is ChildWait => wait.kind === "child");
  if (called.length > 0 && lineage.depth >= CHILD_DEPTH_MAX)
    return refuse("invalid", `children are at most ${CHILD_DEPTH_MAX} deep: ${chainOf(turn.state, run, lineage)}`);
  for (const wait of fresh) {
    if (wait.kind === "sleep" && wait.delay === undefined && wait.until == null)
      return refuse("invalid", `wait "${wait.name}": a sleep needs \`delay\` or \`until\``);
    const due = wait.kind === "child" ? turn.nowUs + (wait.delay ?? 0) * 1e6 : dueOf(turn, wait);
    if (due !== null && due > INTEGER_MAX)
      return refuse("invalid", `wait "${wait.name}": times after the year 2255 cannot be stored`);
    if (wait.kind !== "child") continue;
    const child = acceptChild(turn, run, wait);
    if ("refusal" in child) return child.refusal;
    children.set(wait, child);
  }
  if (called.length > 0 && turn.state.stopping) return refuse("stopping");
  return called.length === 0 ? null : lackOfRoom(turn, called.length);
}

/** The flows of a child and its callers, the first caller first. */
function chainOf(state: LiveState, run: Run, lineage: Lineage): string {
  const names = [run.flow.name];
  for (let from: Lineage | null = lineage; from !== null && from.callerWait !== null; ) {
    const wait = state.durable.openWait(from.callerWait);
    from = wait === undefined ? null : state.durable.get(wait.lineage_id);
    if (from?.run != null) names.unshift(from.run.flow.name);
  }
  return names.join(" > ");
}

function arm(
  turn: Turn,
  run: Run,
  lineage: Lineage,
  wait: NewWait,
  { child, secrets }: { child: NewChild | null; secrets: Secrets },
): void {
  const { state } = turn;
  const { identity, place, kind, name } = wait;
  const former = state.durable.find(lineage, identity);
  const id = former !== null && former.lineage_id === lineage.id ? former.id : state.nextIds.wait;
  state.nextIds.wait = Math.max(state.nextIds.wait, id + 1);
  const due = dueOf(turn, wait);
  const stored: StoredWait = {
    ...{ id, lineage_id: lineage.id, identity, place, kind, name, spec: specOf(wait), due },
    child_lineage_id: child === null ? null : state.nextIds.run,
    token_hash: kind === "callback" ? callbackTokenHash(tokenOf({ lineage_id: lineage.id, identity }, secrets)) : null,
    created_at: turn.nowUs,
    settled_at: null,
    outcome: null,
    event_id: null,
  };
  // The wait is open before its child exists, because the child may end at its creation.
  state.durable.open(stored, turn.number);
  turn.rows.put("put_wait", { ...stored });
  if (child !== null && wait.kind === "child") createChild(turn, run, stored, wait, child);
  if (due !== null) state.deadlines.addWait(id, due);
}

/** When a wait ends by itself. */
function dueOf(turn: Turn, wait: NewWait): number | null {
  if (wait.kind === "child") return null;
  if (wait.kind !== "sleep") return wait.timeout === undefined ? null : turn.nowUs + Math.round(wait.timeout * 1e6);
  return wait.until ?? turn.nowUs + Math.round((wait.delay ?? 0) * 1e6);
}

/** The fields of a kind of wait that are needed after it is armed. */
function specOf(wait: NewWait): string | null {
  if (wait.kind === "event") return JSON.stringify({ event: wait.event, where: wait.where ?? null });
  if (wait.kind === "input") return JSON.stringify({ question: wait.question });
  if (wait.kind === "child") return JSON.stringify({ flow: wait.flow, on_parent_end: wait.on_parent_end ?? "cancel" });
  return null;
}

/** A wait as the interface has it. */
function waitRecord(state: LiveState, wait: StoredWait, secrets: Secrets): Wait {
  const { id, identity, place, kind, name, created_at, due, settled_at } = wait;
  const { event = null, where = null } = JSON.parse(wait.spec ?? "{}") as { event?: string; where?: Record<string, unknown> };
  const child = wait.child_lineage_id;
  const child_run_id = child === null ? null : state.durable.newestRunOf(child);
  const outcome = wait.outcome === null ? null : (JSON.parse(wait.outcome) as WaitOutcome);
  const url = kind === "callback" ? `/api/callbacks/${tokenOf(wait, secrets)}` : null;
  return { id, identity, place, kind, name, created_at, due, event, where, child_run_id, url, settled_at, outcome };
}
