/** The example of an engine in another language: it runs flows, reports their logs, fails and is cancelled. */
import { spawnSync } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t, { type Test } from "tap";
import { Millrace, type StreamMessage } from "#sdk/client/index";
import { serveWithEngines } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/python-engine", import.meta.url));
const GREET = { type: "object", properties: { name: { type: "string" }, times: { type: "integer" } } };
const hasPython = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 8))"]).status === 0;

async function serveExample(t: Test): Promise<{ client: Millrace; dir: string }> {
  const root = testFolder(t);
  const dir = join(root, "flows");
  const home = join(root, "home");
  cpSync(EXAMPLE, dir, { recursive: true });
  writeFileSync(join(dir, "faulty.py"), "import nothing_of_this_name\n");
  await serveWithEngines(t, dir, home, "--max-engines", "1");
  return { client: new Millrace({ home }), dir };
}

function isRunning({ event, data }: StreamMessage, run: number): boolean {
  return event === "run.updated" && "state" in data && data.id === run && data.state.type === "Running";
}

async function until(stream: AsyncGenerator<StreamMessage>, wanted: (message: StreamMessage) => boolean): Promise<void> {
  for await (const message of stream) if (wanted(message)) return;
}

t.test("flows in Python", { skip: hasPython ? false : "there is no python3" }, async (t) => {
  const { client, dir } = await serveExample(t);
  const flow = { project: "greetings", module: "greetings.py", source_dir: dir };

  await t.test("a run from its parameters to its result", async (t) => {
    const { id } = await client.runs.create({
      ...flow,
      flow: "greet",
      parameter_schema: GREET,
      parameters: { name: "Ada", times: 3 },
    });
    t.match(await client.waitFor(id), { run: { state: { type: "Completed" }, engine_pid: Number }, result: "Hello, Ada" });
    const lines = await client.runs.logs(id).first(10);
    t.same(
      lines.map(({ level, message }) => [level, message]),
      [1, 2, 3].map(() => [20, "Hello, Ada"]),
    );
    const events = await client.events.list({ run_id: id, ascending: true }).first(10);
    t.same(
      events.map(({ name }) => name),
      ["run.scheduled", "run.pending", "run.running", "run.completed"],
    );
  });

  await t.test("one that raises, on the same engine", async (t) => {
    const { id } = await client.runs.create({ ...flow, flow: "broken" });
    const { run } = await client.waitFor(id);
    t.match(run.state, { type: "Failed", message: "ValueError: no such table", details: { traceback: /broken\(\)|in broken/ } });
  });

  await t.test("one that is created at once after a save executes the saved code", async (t) => {
    for (const word of ["one", "two", "six"]) {
      writeFileSync(join(dir, "saved.py"), `def word():\n    return "${word}"\n`);
      const { id } = await client.runs.create({ ...flow, module: "saved.py", flow: "word" });
      t.equal((await client.waitFor(id)).result, word);
    }
  });

  await t.test("one that is cancelled", async (t) => {
    const stream = client.stream();
    await stream.next();
    const { id } = await client.runs.create({ ...flow, flow: "endless" });
    await until(stream, (message) => isRunning(message, id));
    await client.runs.cancel(id);
    t.match((await client.waitFor(id)).run.state, { type: "Cancelled", message: "cancelled" });
  });

  await t.test("many that wait, side by side on one engine", async (t) => {
    writeFileSync(
      join(dir, "waiting.py"),
      ["import logging, time", "def nap(n):", "    time.sleep(1)", '    logging.info("run %s", n)', "    return n", ""].join(
        "\n",
      ),
    );
    const schema = { type: "object", properties: { n: { type: "integer" } } };
    const defaults = { ...flow, module: "waiting.py", flow: "nap", parameter_schema: schema };
    const runs = Array.from({ length: 60 }, (_, n) => ({ parameters: { n } }));
    const created = await client.runs.createMany(runs, { defaults });
    const ended = await Promise.all(created.map(({ id }) => client.waitFor(id)));
    t.same(
      ended.map(({ result }) => result),
      runs.map(({ parameters }) => parameters.n),
    );
    const engines = new Set(ended.map(({ run }) => run.engine_pid));
    t.equal(engines.size, 1);
    const times = ended.map(({ run }) => [run.start_time ?? 0, run.end_time ?? 0] as const);
    const most = Math.max(...times.map(([at]) => times.filter(([from, to]) => from <= at && at < to).length));
    t.ok(most >= 4, `at most ${most} at a time`);
    for (const [n, { id }] of created.entries())
      t.same(
        (await client.runs.logs(id).first(10)).map(({ message }) => message),
        [`run ${n}`],
      );
  });

  await t.test("runs whose reports are too large for one exchange, alone or together", async (t) => {
    // The barrier lets the runs report at the same time.
    const code = `import logging, threading
barrier = threading.Barrier(13)
def talk(lines):
    barrier.wait()
    for _ in range(lines): logging.info("x" * 60_000)
`;
    writeFileSync(join(dir, "talking.py"), code);
    const schema = { type: "object", properties: { lines: { type: "integer" } } };
    const defaults = { ...flow, module: "talking.py", flow: "talk", parameter_schema: schema };
    const counts = [...Array.from({ length: 12 }, () => 7), 30];
    const created = await client.runs.createMany(
      counts.map((lines) => ({ parameters: { lines } })),
      { defaults },
    );
    for (const [index, { id }] of created.entries()) {
      t.equal((await client.waitFor(id)).run.state.type, "Completed");
      t.equal((await client.runs.logs(id).first(100)).length, counts[index]);
    }
  });

  await t.test("one whose result is no JSON fails alone", async (t) => {
    writeFileSync(join(dir, "strange.py"), "def strange():\n    return object()\n");
    const { id } = await client.runs.create({ ...flow, module: "strange.py", flow: "strange" });
    t.match((await client.waitFor(id)).run.state, { type: "Failed", message: /TypeError.*not JSON serializable/ });
  });

  await t.test("a module that cannot be imported", async (t) => {
    const { id } = await client.runs.create({ ...flow, module: "faulty.py", flow: "any" });
    t.match((await client.waitFor(id)).run.state, { type: "Failed", message: /No module named 'nothing_of_this_name'/ });
  });
});
