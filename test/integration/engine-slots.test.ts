/** Many runs side by side in one engine. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { startEngine } from "../support/engine-process.ts";
import type { ProtocolServer, ServedRun } from "../support/protocol-server.ts";
import { testFolder } from "../support/test-folder.ts";

const dir = testFolder(t);

/** Queues runs that wait for a file, and waits until all of them execute. */
async function startWaiting(server: ProtocolServer, count: number, name: string): Promise<{ runs: ServedRun[]; go(): void }> {
  const path = join(dir, name);
  const runs = server.enqueueAll(Array.from({ length: count }, () => ({ flow: "until", parameters: { path } })));
  await server.until(() => runs.every((run) => server.logs(run).includes("started")));
  return { runs, go: () => writeFileSync(path, "") };
}

const heldMost = ({ exchanges }: ProtocolServer): number => Math.max(...exchanges.map(({ held }) => held.length));

t.test("runs that wait share the engine, which takes more of them only after it has measured the waiting", async (t) => {
  const { server } = await startEngine(t, "side-by-side.ts", ["--slots", "20"]);
  const { runs, go } = await startWaiting(server, 20, "shared");
  const sizes = [...new Set(server.exchanges.map(({ held }) => held.length))];
  t.ok(sizes.includes(1) && sizes.includes(2) && sizes.includes(4), `held at a time: ${sizes.join()}`);
  for (const { slots, held } of server.exchanges) t.ok(slots <= Math.max(1, held.length * 2), `${slots} beside ${held.length}`);
  go();
  await server.allEnded(runs);
  for (const { history, state } of runs) {
    t.same(history, ["Pending", "Running", "Completed"]);
    t.same(state.details, { result: "went on" });
  }
  t.equal(heldMost(server), 20, "as many as --slots allows");
});

t.test("a run that computes has the engine for itself", async (t) => {
  const { server } = await startEngine(t, "side-by-side.ts");
  const path = join(dir, "computed");
  const runs = server.enqueueAll(["a", "b"].map(() => ({ flow: "computes", parameters: { path } })));
  await server.until(() => runs.some((run) => server.logs(run).includes("started")));
  // Several windows of measuring.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  t.same(
    runs.map(({ given }) => given),
    [1, 0],
  );
  writeFileSync(path, "");
  await server.allEnded(runs);
  t.equal(heldMost(server), 1);
});

t.test("nothing of 200 interleaved runs gets into another one", async (t) => {
  const { server } = await startEngine(t, "side-by-side.ts", ["--grace", "20"]);
  const { runs: first, go } = await startWaiting(server, 64, "interleaved");
  const marks = Array.from({ length: 200 }, (_, n) => `m${n}${n % 10 === 0 ? "c" : "e"}`);
  const runs = server.enqueueAll(marks.map((mark) => ({ flow: "mixed", parameters: { mark } })));
  go();
  await server.allEnded(first);
  for (const [n, run] of runs.entries()) {
    if (!marks[n]?.endsWith("c")) continue;
    await server.until(() => server.logs(run).length === 15);
    server.cancel(run);
  }
  await server.allEnded(runs);
  t.ok(heldMost(server) >= 64, `${heldMost(server)} at a time`);
  for (const [n, run] of runs.entries()) {
    const mark = marks[n] ?? "";
    const isCancelled = mark.endsWith("c");
    t.equal(run.state.type, isCancelled ? "Cancelled" : "Completed", mark);
    if (!isCancelled) t.same(run.state.details, { result: { mark, name: `run-${run.id}` } });
    const lines = server.logs(run);
    t.ok(
      lines.every((line) => line.startsWith(`${mark} `)),
      `${mark}: ${lines.join("|")}`,
    );
    t.equal(lines.length, 3 + 6 + 6 + (isCancelled ? 1 : 0), `lines of ${mark}`);
    const text = JSON.stringify(run.items);
    t.notMatch(text.replaceAll(mark, ""), /\bm\d+[ce]\b/, "no artifact, event or task of another run");
    const owners = new Set([...text.matchAll(/"run_id":(\d+)/g)].map(([, id]) => Number(id)));
    t.same([...owners], [run.id]);
    const kinds = (kind: string): number => run.items.filter((item) => item["kind"] === kind).length;
    t.ok(kinds("artifact") >= 1);
    t.equal(kinds("task_run_created"), 6);
    t.equal(kinds("custom"), 3);
  }
});

t.test("a report that is refused refuses no other", async (t) => {
  const { server, complained } = await startEngine(t, "side-by-side.ts");
  const { runs, go } = await startWaiting(server, 8, "refused");
  const [refused, ...others] = runs;
  server.refuse = ({ run_id, events }) =>
    run_id === refused?.id && events.length > 0 ? { status: 422, error: "malformed" } : undefined;
  go();
  await server.allEnded(others);
  t.same(
    others.map(({ state }) => state.type),
    others.map(() => "Completed"),
  );
  await complained(`run ${refused?.id}: Completed was refused: malformed`);
});

t.test("a run whose answer was lost is given again and executed once", async (t) => {
  const { server } = await startEngine(t, "basic.ts");
  await server.until(() => server.parked);
  let run: ServedRun | undefined;
  server.intercept = () => {
    if (run !== undefined) return undefined;
    // The exchange that follows the broken connection takes the run, and its answer is lost too.
    run = server.enqueue("sums");
    return "cut-after";
  };
  const { port } = server;
  server.close();
  await server.reopen(port);
  await server.until(() => run !== undefined);
  const given = await server.ended(run as ServedRun | undefined as ServedRun);
  t.equal(given.given, 2);
  t.same(given.history, ["Pending", "Running", "Completed"]);
  t.equal(server.logs(given).length, 2);
});

t.test("a run that two answers under way give is executed once", async (t) => {
  const { server } = await startEngine(t, "side-by-side.ts");
  const { runs, go } = await startWaiting(server, 2, "twice");
  await server.until(() => server.parked && (server.exchanges.at(-1)?.slots ?? 0) > 0);
  let twice: ServedRun | undefined;
  server.intercept = ({ body }) => {
    // The newer exchange is under way when the run is given in the answer to the held one.
    if (twice === undefined && JSON.stringify(body["reports"]).includes("Completed"))
      twice = server.enqueue("mixed", { mark: "m1e" });
    return undefined;
  };
  go();
  await server.allEnded(runs);
  const given = await server.ended(twice as ServedRun | undefined as ServedRun);
  t.equal(given.given, 2);
  t.same(given.history, ["Pending", "Running", "Completed"]);
  t.equal(server.logs(given).length, 15);
});

t.test("runs go on while the server is away, and end when it is back", async (t) => {
  const { server, complaints } = await startEngine(t, "side-by-side.ts");
  const { runs, go } = await startWaiting(server, 20, "away");
  const { port } = server;
  server.close();
  go();
  await server.reopen(port);
  await server.allEnded(runs);
  for (const { history, given } of runs) {
    t.same(history, ["Pending", "Running", "Completed"]);
    t.equal(given, 1);
  }
  t.equal(complaints(), "");
  t.equal((await server.ended(server.enqueue("fresh"))).state.type, "Completed");
});

t.test("SIGTERM lets all runs finish and takes no further one; a second one ends them as Crashed", async (t) => {
  for (const signals of [1, 2]) {
    const { server, engine, exited } = await startEngine(t, "side-by-side.ts");
    const { runs, go } = await startWaiting(server, 5, `stopped-${signals}`);
    await server.until(() => server.parked);
    engine.kill("SIGTERM");
    await server.until(() => server.exchanges.at(-1)?.slots === 0);
    const late = server.enqueue("fresh");
    if (signals === 1) go();
    else engine.kill("SIGTERM");
    await server.allEnded(runs);
    for (const { state } of runs)
      t.match(state, signals === 1 ? { type: "Completed" } : { type: "Crashed", message: "the engine was stopped" });
    t.equal(await exited, 0);
    t.equal(late.given, 0);
  }
});

t.test("runs beside one that computes go back to the queue, uncounted, and begin once the thread is free", async (t) => {
  const { server } = await startEngine(t, "side-by-side.ts");
  const { runs: waiting, go } = await startWaiting(server, 16, "beside");
  const path = join(dir, "holds");
  await server.until(() => server.parked && (server.exchanges.at(-1)?.slots ?? 0) >= 8);
  const holding = server.enqueueAll(Array.from({ length: 4 }, () => ({ flow: "holds", parameters: { path } })));
  const [first, ...others] = holding;
  await server.until(() => others.every(({ returned }) => returned > 0));
  t.same(first?.history, ["Pending", "Running"]);
  for (const { history } of others) t.same(history, [], "never begun");
  await server.until(() => server.exchanges.some(({ blocked_secs: secs = 0 }) => secs >= 1));
  const given = others.map((run) => run.given);
  t.equal(server.exchanges.at(-1)?.slots, 0, "the engine takes none while its thread is held");
  writeFileSync(path, "");
  await server.allEnded(holding);
  for (const { state } of holding) t.equal(state.type, "Completed");
  t.ok(server.exchanges.at(-1)?.blocked_secs === undefined, "the end of the block is said");
  t.ok(
    given.every((times) => times <= 2),
    `given ${given.join()} times`,
  );
  go();
  await server.allEnded(waiting);
  for (const { state, history } of waiting) t.same([state.type, history.length], ["Completed", 3]);
});
