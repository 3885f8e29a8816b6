/** The lines of `millrace run --each` and the batches they are sent in. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { batchesOf, type Line, readLines } from "#cli/run/run-each";
import { RUN_BATCH_BYTES_MAX, RUN_BATCH_RUNS_MAX } from "#protocol/limits";

const DEFAULTS = { flow: "f", project: "p" };

function lines(count: number, parameters: Record<string, unknown> = {}): Line[] {
  return Array.from({ length: count }, (_, index) => ({ number: index + 1, parameters }));
}

t.test("lines are numbered as in the file; empty lines are no runs", async (t) => {
  const file = join(t.testdir(), "days.jsonl");
  writeFileSync(file, '{"day":"a"}\r\n\n  \n{"big":9007199254740993}');
  const read = await readLines(file);
  t.same(
    read.map(({ number }) => number),
    [1, 4],
  );
  t.equal(JSON.stringify(read.map(({ parameters }) => parameters)), '[{"day":"a"},{"big":9007199254740993}]');
});

t.test("a line that is no object is named, and so is a file that cannot be read", async (t) => {
  const folder = t.testdir();
  const file = join(folder, "bad.jsonl");
  for (const [text, error] of [
    ["{}\n{", /^line 2 of .*bad\.jsonl is not JSON: /],
    ["{}\n\n[1]", /^line 3 of .*bad\.jsonl is not an object of parameters/],
    ["null", /^line 1 of /],
  ] as const) {
    writeFileSync(file, text);
    await t.rejects(readLines(file), { message: error, advice: /^No run was created/, exitCode: 3 });
  }
  await t.rejects(readLines(join(folder, "missing")), { message: /missing cannot be read: ENOENT/ });
  await t.rejects(readLines(folder), { message: /cannot be read: EISDIR/ });
});

t.test("a batch holds as many lines as the server takes, by number and by bytes", async (t) => {
  const sizes = (each: Line[][]) => each.map(({ length }) => length);
  t.same(sizes(batchesOf([], DEFAULTS)), []);
  t.same(sizes(batchesOf(lines(RUN_BATCH_RUNS_MAX), DEFAULTS)), [RUN_BATCH_RUNS_MAX]);
  t.same(sizes(batchesOf(lines(2 * RUN_BATCH_RUNS_MAX + 1), DEFAULTS)), [RUN_BATCH_RUNS_MAX, RUN_BATCH_RUNS_MAX, 1]);
  const large = lines(20, { text: "ü".repeat(500_000) });
  const batches = batchesOf(large, DEFAULTS);
  t.same(sizes(batches), [8, 8, 4]);
  for (const batch of batches) {
    const body = { runs: batch.map(({ parameters }) => ({ parameters })), defaults: DEFAULTS };
    t.ok(Buffer.byteLength(JSON.stringify(body)) <= RUN_BATCH_BYTES_MAX);
  }
  t.same(batches.flat(), large, "in order");
});
