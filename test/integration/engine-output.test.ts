import t from "tap";
import { startEngine } from "../support/engine-process.ts";
import type { Received, ServedRun } from "../support/protocol-server.ts";

const { server, complained } = await startEngine(t, "printing.ts");

interface Line {
  message: string;
  level: number;
  logger: string;
  task_run_external_id: string | null;
}

function lines(run: ServedRun): Line[] {
  return run.items.filter(({ kind }) => kind === "logs").flatMap(({ logs }) => logs as Line[]);
}

/** Standard output and error are separate streams, so only lines of the same stream are in order. */
function printed(run: ServedRun, logger: string): string[] {
  return lines(run)
    .filter((line) => line.logger === `millrace.${logger}`)
    .map(({ message }) => message);
}

t.test("what a flow writes to its standard streams is its log, line by line", async (t) => {
  const run = await server.ended(server.enqueue("streams"));
  t.same(printed(run, "stdout"), [
    "a whole line",
    "begun and ended",
    "Windows",
    "100%",
    "hello",
    "€\ufffd",
    "by its descriptor",
    "in part",
    "without an end, still",
  ]);
  t.same(printed(run, "stderr"), ["an error line"]);
  t.match(lines(run)[0], { level: 20, task_run_external_id: null });
  t.equal(lines(run).find(({ logger }) => logger === "millrace.stderr")?.level, 30);
  const [dir, table] = printed(run, "print");
  t.equal(dir, "{ a: [Object] }");
  t.match(table, "(index)");
});

t.test("partial lines of two tasks do not mix, and belong to their task", async (t) => {
  const run = await server.ended(server.enqueue("tasks"));
  t.same(printed(run, "stdout").sort(), ["x says x", "y says y"]);
  t.equal(new Set(lines(run).map((line) => line.task_run_external_id)).size, 2);
});

t.test("what child processes print to the streams they inherit is the log of their run", async (t) => {
  const run = await server.ended(server.enqueue("children"));
  t.same(printed(run, "stdout").sort(), ["both", "by streams", "child out", "forked"]);
  t.same(printed(run, "stderr"), ["child err", "by numbers"]);
  t.same(run.state.details, { result: ["sent", null, null] }, "they look inherited to the flow");
});

t.test("synchronous child processes print to the log too", async (t) => {
  const run = await server.ended(server.enqueue("synchronous"));
  t.same(printed(run, "stdout"), ["child out", "there"]);
  t.same(printed(run, "stderr"), ["child err", "told"]);
  t.same(run.state.details, { result: [null, 3] });
});

t.test("a process in the background that keeps the streams open does not keep its run", async (t) => {
  const run = await server.ended(server.enqueue("background"));
  t.same(printed(run, "stdout"), ["started"]);
  t.match(server.logs(run).at(-1), /with a process group of their own go on: sleep \(\d+\)|sh \(\d+\), sleep \(\d+\)/);
  for (const [, pid] of (server.logs(run).at(-1) ?? "").matchAll(/\((\d+)\)/g)) process.kill(Number(pid));
});

t.test("with logPrints off, and after its end, what a run prints goes to the output of the engine", async (t) => {
  const run = await server.ended(server.enqueue("unprinted"));
  t.same(server.logs(run), []);
  // A child process writes to the engine's stream itself, so the order of the two lines is not defined.
  await complained("not for the log\n");
  await complained("nor this\n");
  const after = await server.ended(server.enqueue("afterwards"));
  await complained("after the run\n");
  t.same(server.logs(after), ["in the run"]);
});

t.test("who prints more than can be sent is told to wait, and nothing is lost", async (t) => {
  let held = true;
  const reports = ({ body }: Received) => JSON.stringify(body).includes("stdout");
  server.intercept = (request) => (held && reports(request) ? "cut" : undefined);
  t.teardown(() => {
    server.intercept = () => undefined;
  });
  const before = server.received.length;
  const run = server.enqueue("flood");
  await server.until(() => server.received.slice(before).filter(reports).length > 3);
  held = false;
  await server.ended(run);
  t.equal(printed(run, "stdout").length, 40_000);
  t.ok(Number(run.state.details["result"]) > 0, "it had to wait");
});

t.test("a line that is too long is cut up", async (t) => {
  const run = await server.ended(server.enqueue("long-line"));
  const text = printed(run, "stdout");
  t.equal(text.join(""), `${"y".repeat(600_000)}z`);
  t.ok(text.every(({ length }) => length <= 256_000));
});
