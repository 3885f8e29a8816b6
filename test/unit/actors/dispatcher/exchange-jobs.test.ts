/** Jobs for engines that exchange: such an engine asks for further work while it does a job. */
import t from "tap";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { createId, MODULE, move, SOURCE_DIR } from "../../../support/dispatch-steps.ts";

const SCHEMA = { type: "object", properties: { day: { type: "string", format: "date" } } };

t.test("a job is given once to an engine that exchanges, and again if it has not answered for a minute", async (t) => {
  const kit = new DispatchKit();
  const flow = { parameter_schema: SCHEMA, options: { has_bulk_complete: true }, parameters: { day: "2025-01-01" } };
  move(kit, createId(kit, flow), "Cancelled");
  kit.send("CreateBackfill", { target: 1, body: { parameter: "day", start: "2026-01-01", end: "2026-01-03" } });
  const kindsGiven = (number: number): unknown[] => {
    const identity = { engine_id: "e1", pid: 1000, source_dir: SOURCE_DIR, module: MODULE };
    const body = { ...identity, exchange: number, slots: 8, held: [], reports: [], hold: false };
    const answer = kit.send("Exchange", { body }).reply?.body as { runs: { kind: string }[] };
    return answer.runs.map(({ kind }) => kind);
  };
  t.same(kindsGiven(1), ["bulk_complete"]);
  t.same(kindsGiven(2), []);
  kit.pass(61_000_000);
  t.same(kindsGiven(3), ["bulk_complete"]);
});

t.test("an engine that always holds runs does jobs beside them, but not beside a run that shares with none", async (t) => {
  for (const exclusive of [false, true]) {
    const kit = new DispatchKit();
    const identity = { engine_id: "e1", pid: 1000, source_dir: SOURCE_DIR, module: MODULE, hold: false };
    const flow = { parameter_schema: SCHEMA, options: { has_bulk_complete: true, exclusive }, parameters: { day: "2025-01-01" } };
    const id = createId(kit, flow);
    const exchange = (number: number, rest: object) => {
      const answer = kit.send("Exchange", { body: { ...identity, exchange: number, slots: 8, held: [], reports: [], ...rest } });
      return (answer.reply?.body as { runs: { kind: string; lease?: number }[] } | undefined)?.runs ?? [];
    };
    const [given] = exchange(1, {});
    const held = [{ run_id: id, lease: given?.lease ?? 0 }];
    kit.send("CreateBackfill", { target: 1, body: { parameter: "day", start: "2026-01-01", end: "2026-01-03" } });
    t.same(
      exchange(2, { held }).map(({ kind }) => kind),
      exclusive ? [] : ["bulk_complete"],
    );
  }
});
