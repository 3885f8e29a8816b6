/** The dispatch group around a crash: which command is answered, and which waiting messages are resent. */
import t from "tap";
import { newReport, OpenReports } from "#actors/core/state/open-reports";
import { DispatchGroup } from "#actors/dispatch-group/dispatch-group";
import { createIdSource } from "#actors/ids";
import type { CommitClient, DecisionMessage } from "#actors/store-writer/commit-client";
import type { CommandRef } from "#protocol/wire/command";
import { Outbox } from "#runtime/effect";
import { SETTINGS } from "../../../support/dispatch-kit.ts";
import { serverFacts } from "../../../support/server-facts.ts";
import { openStore } from "../../../support/storage-rows.ts";

function groupOf(announced: number[] = [], firstEpoch = 0): DispatchGroup {
  const commits = {
    settled: async () => undefined,
    announce: (epoch: number) => announced.push(epoch),
    committedTurn: 0,
    lastSeq: 0,
  } as unknown as CommitClient;
  return new DispatchGroup({
    nowUs: () => 1_000_000,
    uptimeUs: () => 1_000_000,
    bootUs: () => 1_000_000,
    ids: createIdSource(),
    commits,
    openStore: () => openStore().statements,
    settings: SETTINGS,
    facts: serverFacts(),
    isAlive: () => false,
    firstEpoch,
  });
}

t.test("a command behind the new epoch stays for an actor that has yet to start, earlier ones go", async (t) => {
  const announced: number[] = [];
  const group = groupOf(announced);
  const [dispatcher, ...others] = group.specs();
  const context = { nowUs: () => 1_000_000, generation: 1 };
  for (const epoch of [1, 2]) {
    await dispatcher?.start(context, new Outbox());
    t.same(announced.at(-1), epoch);
    for (const { name, resent } of others) {
      t.equal(resent?.({ kind: "DeleteVariable", id: 7, epoch: epoch - 1 }), true, `${name}: sent before`);
      t.equal(resent?.({ kind: "DeleteVariable", id: 8, epoch }), false, `${name}: sent since`);
      const slice = (answers: CommandRef | null) => ({ kind: "CancelSlice", answers, backfill_id: 1 });
      t.equal(resent?.(slice({ id: 7, epoch: epoch - 1 })), true, `${name}: a part of a command sent before`);
      t.equal(resent?.(slice({ id: 8, epoch })), false, `${name}: a part of a command sent since`);
      t.equal(resent?.(slice(null)), false, `${name}: what no client waits for`);
      t.equal(resent?.({ kind: "Tick" }), false, `${name}: of no gateway`);
    }
  }
});

t.test("a step that fails answers the command that it decides, as its message names it", async (t) => {
  const command = { kind: "DeleteRun", id: 7, epoch: 1, target: 1, body: null, idempotency: null, local: true };
  const report = newReport(command as never, { engine_id: "e", run_id: 1, lease: null }, 1, [() => [], () => []]);
  const answered = (message: object): number[] => {
    const out = new Outbox();
    groupOf([], 1).specs()[0]?.failed?.(message, new Error("broken"), out);
    return out.effects.map((effect) => Number((effect as unknown as { message: DecisionMessage }).message.decision.replies[0]));
  };
  t.same(answered(command), [7]);
  t.same(answered({ ...command, epoch: 0 }), [], "the gateway resends it, and gets the answer of that epoch");
  t.same(answered({ kind: "BackfillSlice", answers: { id: 8, epoch: 1 }, draft: { command } }), [8]);
  t.same(answered({ kind: "BatchSlice", answers: { id: 9, epoch: 1 }, draft: { command } }), [9]);
  t.same(answered({ kind: "CancelSlice", answers: null, backfill_id: 1 }), [], "resumed at a restart: no client waits");
  t.same(answered({ kind: "Expired", epoch: 1, command: 7 }), [], "the gateway resends the long-poll");
  t.same(answered({ kind: "HookDone", id: 7, run_id: 1, items: [], error: null }), [], "its id is that of a message");

  const slices = (): object[] => {
    const out = new Outbox();
    const open = new OpenReports();
    open.add(report);
    report.called = false;
    open.callNext(out, 1);
    return out.effects.map((effect) => (effect as unknown as { message: object }).message);
  };
  t.same(slices().flatMap(answered), [7], "a slice of a report");
  report.behind.push({ ...command, id: 9 } as never);
  t.same(slices().flatMap(answered), [7], "a command waits behind it");
  report.next = 2;
  t.same(slices().flatMap(answered), [9], "after the last slice: the command that waited");
});
