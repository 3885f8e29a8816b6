/** The dispatch group at a restart: which waiting commands are resent, and which are not. */
import t from "tap";
import { DispatchGroup } from "#actors/dispatch-group/dispatch-group";
import { createIdSource } from "#actors/ids";
import type { CommitClient } from "#actors/store-writer/commit-client";
import { Outbox } from "#runtime/effect";
import { SETTINGS } from "../../../support/dispatch-kit.ts";
import { serverFacts } from "../../../support/server-facts.ts";
import { openStore } from "../../../support/storage-rows.ts";

t.test("a command behind the new epoch stays for an actor that has yet to start, earlier ones go", async (t) => {
  const announced: number[] = [];
  const commits = {
    settled: async () => undefined,
    announce: (epoch: number) => announced.push(epoch),
    committedTurn: 0,
    lastSeq: 0,
  } as unknown as CommitClient;
  const group = new DispatchGroup({
    nowUs: () => 1_000_000,
    uptimeUs: () => 1_000_000,
    bootUs: () => 1_000_000,
    ids: createIdSource(),
    commits,
    openStore: () => openStore().statements,
    settings: SETTINGS,
    facts: serverFacts(),
    isAlive: () => false,
    firstEpoch: 0,
  });
  const [dispatcher, ...others] = group.specs();
  const context = { nowUs: () => 1_000_000, generation: 1 };
  for (const epoch of [1, 2]) {
    await dispatcher?.start(context, new Outbox());
    t.same(announced.at(-1), epoch);
    for (const { name, resent } of others) {
      t.equal(resent?.({ kind: "SetVariable", id: 7, epoch: epoch - 1 }), true, `${name}: sent before`);
      t.equal(resent?.({ kind: "SetVariable", id: 8, epoch }), false, `${name}: sent since`);
      t.equal(resent?.({ kind: "Tick" }), false, `${name}: of no gateway`);
    }
  }
});
