import t from "tap";
import { parseBatchCommandLine } from "../../load/batch/batch-options.ts";
import { parseBullmqCommandLine } from "../../load/bullmq/bullmq-options.ts";
import { commandText } from "../../load/command-text.ts";
import { GOAL_FIGURES } from "../../load/goals/floors.ts";
import { GOALS_DEFAULTS, parseGoalsCommandLine } from "../../load/goals/goals-options.ts";
import { stepsOf } from "../../load/goals/steps.ts";
import { parseCommandLine } from "../../load/options.ts";
import { parseRealCommandLine } from "../../load/real/real-options.ts";
import { workloadOf } from "../../load/real/workloads.ts";
import { parseSlotsCommandLine } from "../../load/slots/slots-options.ts";

t.test("wrong options are named", async (t) => {
  t.throws(() => parseCommandLine(["--engines", "0"]), { message: /--engines/ });
  t.throws(() => parseCommandLine(["--phases", "idle,none"]), { message: /none/ });
  t.throws(() => parseCommandLine(["--url", "http://x", "--home", "y"]), { message: /--home/ });
  t.throws(() => parseCommandLine(["--store-runs", "5", "--home", "y"]), { message: /--store-runs/ });
  t.same(parseCommandLine(["--phases", "rest", "--store-runs", "20"]).options.storeRuns, 20);
  t.equal(parseCommandLine(["--short-runs"]).options.shortRuns, true);
  t.same(parseCommandLine(["--phases", "idle", "--runs", "20", "--json"]).options.runs, 20);
});

t.test("options of real engines: sizes of the workloads, options of serve, and what is refused", async (t) => {
  const { options } = parseRealCommandLine(["--workloads", "waiting", "--wait-seconds", "0.5", "--serve=--max-engines=4"]);
  t.same(options.workloads, ["waiting"]);
  t.same(options.serve, ["--max-engines=4"]);
  t.same(workloadOf("waiting", options), { runs: 500, parameters: { seconds: 0.5 }, atLeast: 0.5 });
  t.equal(options.perSecond, null, "as many as the server accepts");
  t.equal(parseRealCommandLine(["--per-second", "200"]).options.perSecond, 200);
  t.throws(() => parseRealCommandLine(["--per-second", "0"]), /--per-second must be a number from 1/);
  t.throws(() => parseRealCommandLine(["--workloads", "dancing"]), /knows empty, tasks, waiting, computing/);
  t.throws(() => parseRealCommandLine(["--runs", "0"]), /--runs must be a number from 1/);
  t.throws(() => parseRealCommandLine(["--compare", "cereyan:x"]), /takes tree:PATH/);
  t.throws(() => parseRealCommandLine(["--engines", "3"]), /Unknown option/);
  t.equal(options.starts, 0, "one start for all rounds");
  t.equal(parseRealCommandLine(["--starts", "4"]).options.turns, 1);
  t.match(parseRealCommandLine(["--starts", "4", "--turns", "2"]).options, { starts: 4, turns: 2 });
  t.throws(() => parseRealCommandLine(["--starts", "4", "--engine-starts", "1"]), /leave out --starts/);
});

t.test("every kind of load test knows the options of the report and refuses those of another kind", async (t) => {
  const parsers = [
    parseCommandLine,
    parseRealCommandLine,
    parseSlotsCommandLine,
    parseBatchCommandLine,
    parseBullmqCommandLine,
    parseGoalsCommandLine,
  ];
  for (const parse of parsers) {
    t.same(parse([]).output, { json: false, html: null, help: false });
    t.same(parse(["--json", "--html", "report.html", "--help"]).output, { json: true, html: "report.html", help: true });
    t.throws(() => parse(["--html="]), /--html needs the name of a file/);
    t.throws(() => parse(["--nonsense", "1"]), /Unknown option '--nonsense'/);
    t.throws(() => parse(["--rounds", "0"]), /--rounds must be a number from 1/);
    t.throws(() => parse(["--rounds", "x"]), /--rounds must be a number from 1 to [0-9]+, not x/);
  }
  t.throws(() => parseSlotsCommandLine(["--flush", "always"]), /--flush/);
  t.throws(() => parseBullmqCommandLine(["--engine-slots", "3"]), /--engine-slots/);
});

t.test("options of engines with slots, of batches and of BullMQ: sizes, and what is refused", async (t) => {
  const slots = parseSlotsCommandLine([
    "--engine-slots",
    "1024",
    "--works",
    "full",
    "--batch-size",
    "100",
    "--compare",
    "tree:x",
  ]);
  t.match(slots.options, { slots: 1_024, works: ["full"], batch: 100, compare: "x", compiled: false });
  t.throws(() => parseSlotsCommandLine(["--engine-slots", "1025"]), /--engine-slots must be a number from 1 to 1024/);
  t.throws(() => parseSlotsCommandLine(["--works", "half"]), /--works knows bare, full and all, not half/);
  t.throws(() => parseSlotsCommandLine(["--compare", "cereyan:x"]), /takes tree:PATH/);
  t.throws(() => parseSlotsCommandLine(["--durability", "none"]), /--durability is normal or full/);
  t.match(parseBatchCommandLine(["--phases", "creation"]).options, { phases: ["creation"], batch: 1_000 });
  t.throws(() => parseBatchCommandLine(["--batch-size", "1"]), /from 2 to 10000/);
  t.throws(() => parseBatchCommandLine(["--batch-size", "10001"]), /from 2 to 10000/);
  const bullmq = parseBullmqCommandLine(["--flush", "always", "--serve=--max-engines=4"]);
  t.match(bullmq.options, { flushes: ["always"], concurrency: 50, serve: ["--max-engines=4"], folder: null });
  t.throws(() => parseBullmqCommandLine(["--flush", "never"]), /--flush knows everysec, always and all, not never/);
});

t.test("every goal names a figure of a step, and the commands of the steps are accepted as they are shown", async (t) => {
  t.throws(() => parseGoalsCommandLine(["--compare", "tree:x"]), /takes cereyan:PROGRAM/);
  const steps = stepsOf({ ...GOALS_DEFAULTS, compare: "cereyan:/venv/bin/cereyan" });
  for (const { mode, args } of steps) t.doesNotThrow(() => mode.parse(args), args.join(" "));
  const names = new Set(steps.map(({ name }) => name));
  for (const { step, what } of GOAL_FIGURES) t.ok(names.has(step), what);
  t.same([...names].sort(), [...new Set(GOAL_FIGURES.map(({ step }) => step))].sort(), "no step without a goal");
});

t.test("the command of a report shows what was measured, and no token", async (t) => {
  t.equal(commandText([]), "npm run load");
  t.equal(commandText(["--json", "--rounds", "3", "--html", "a b.html"]), "npm run load -- --rounds 3");
  t.equal(commandText(["--html=x", "--token", "secret", "--url", "u"]), "npm run load -- --token ... --url u");
  t.equal(commandText(["--token=secret"]), "npm run load -- --token ...");
  t.equal(commandText(["--home", "it's here"]), "npm run load -- --home 'it'\\''s here'");
});
