import t from "tap";
import { distribution, SHARES } from "../../load/distribution.ts";
import { ProgressLine } from "../../load/progress.ts";
import { chartsOfPart } from "../../load/report/charts.ts";
import { reachedShare, renderGoals } from "../../load/report/goal.ts";
import { renderHtml } from "../../load/report/report-html.ts";
import { renderJson } from "../../load/report/report-json.ts";
import { renderReport } from "../../load/report/report-text.ts";
import { Samples } from "../../load/samples.ts";
import { timelineOf } from "../../load/timeline.ts";
import { sampleReport } from "../../support/load-report.ts";

t.test("the text has a table for each phase, with ratios and their interval", async (t) => {
  const text = renderReport(sampleReport());
  t.match(text, /Test Processor, 2 cores/);
  t.match(text, /slots 1\.2\.3, durability: normal, first answer after 900 ms/);
  const row = text.split("\n").find((line) => line.startsWith("  runs"));
  const cells = ["runs", "2,000", "(1,900 - 2,100)", "1,000", "(1,000 - 1,000)", "runs/s", "2", "1.76 - 2.26"];
  t.same(row?.trim().split(/ {2,}/), cells);
  t.match(text, /bare runs\n {2}figure/);
  t.match(text, /slots, round 1: failed: <one>/);
  t.notMatch(text, /Floor/, "no goals were measured");
});

t.test("a report of several parts names each with its command, and ends with the goals", async (t) => {
  const report = sampleReport();
  const common = { interval: null, generatorUs: null, command: "npm run load" };
  const goal = { ...common, what: "Runs", unit: "runs/s", floor: 4_000, better: "higher", measured: 2_000 } as const;
  const ratio = { ...goal, what: "Beside", unit: "times", floor: 2, measured: 3, interval: { low: 2, high: 4 }, generatorUs: 20 };
  const missing = { ...common, what: "CPU", unit: "us", floor: 300, better: "lower", measured: null } as const;
  t.equal(reachedShare(goal), 0.5);
  t.equal(reachedShare({ ...goal, better: "lower" }), 2);
  t.equal(reachedShare(missing), null);
  const text = renderReport({ ...report, parts: [...report.parts, ...report.parts], goals: [goal, ratio, missing] });
  t.equal(text.match(/^# Simulated engines with slots\nnpm run load -- --slots$/gm)?.length, 2);
  t.ok(text.endsWith(`${renderGoals([goal, ratio, missing]).join("\n")}\n`));
  t.match(text, "| Runs | at least 4,000 runs/s | 2,000 | 0.500 |  | `npm run load` |");
  t.match(text, "| Beside | at least 2 times | 3 (2 - 4) | 1.50 | 20 | `npm run load` |");
  t.match(text, "| CPU | at most 300 us |  |  |  | `npm run load` |");
  const html = renderHtml({ ...report, goals: [goal, missing] });
  t.match(html, '<td class="number missed">0.500</td>');
  t.match(html, "not measured");
});

t.test("the JSON of one part is flat and has its summary, that of several has each", async (t) => {
  const report = sampleReport();
  const flat = JSON.parse(renderJson(report)) as Record<string, unknown>;
  t.match(flat, { command: "npm run load -- --slots", machine: { cores: 2 }, summary: [{ phase: "bare runs", name: "runs" }] });
  const both = JSON.parse(renderJson({ ...report, parts: [...report.parts, ...report.parts] })) as { parts: unknown[] };
  t.equal(both.parts.length, 2);
  t.match(both.parts[1], { title: "Simulated engines with slots", summary: [{ name: "runs" }] });
});

t.test("the charts show the last round of each side", async (t) => {
  const [part] = sampleReport().parts;
  const [phase, ...others] = part === undefined ? [] : chartsOfPart(part);
  t.same(others, []);
  const titles = phase?.charts.map(({ title }) => title);
  t.same(titles, ["Ended per second", "Processor time of each process", "Memory of each process", "Latency: create"]);
  const [rate, , memory, latency] = phase?.charts ?? [];
  // One side was sampled at other times than the other.
  t.same(rate?.data, [
    [0.25, 0.5, 0.75],
    [303, null, 603],
    [103, 203, null],
  ]);
  t.same(
    memory?.series.map(({ label }) => label),
    ["slots: server", "specified: server"],
  );
  t.same(latency?.data[0], [1, 1.11111, 1.33333, 2, 4, 10, 20, 50, 100, 200, 500, 1_000]);
});

t.test("the HTML is one file, in which no text of a report becomes markup", async (t) => {
  const html = renderHtml(sampleReport());
  t.notMatch(html, /<one>|<script src|<link|https?:\/\/(?!github)/);
  t.match(html, /failed: &lt;one&gt;/);
  const [, data = ""] = /<script type="application\/json" id="charts">(.*?)<\/script>/s.exec(html) ?? [];
  const charts = JSON.parse(data) as { element: string; chart: { title: string } }[];
  t.equal(charts.length, 4);
  for (const { element } of charts) t.ok(html.includes(`<div id="${element}"></div>`), element);
  t.match(html, /uPlot/);
});

t.test("samples become rates; a distribution has a value for each share", async (t) => {
  const mib = 1_048_576;
  const moments = [
    { ms: 1_000, ended: 10, usage: [{ cpuUs: 0, residentBytes: mib }, null] },
    { ms: 1_250, ended: 20, usage: [{ cpuUs: 250_000, residentBytes: 2 * mib }, null] },
    {
      ms: 1_750,
      ended: 20,
      usage: [
        { cpuUs: 250_000, residentBytes: mib },
        { cpuUs: 50_000, residentBytes: 0 },
      ],
    },
  ];
  t.same(timelineOf(["server", "engines"], moments), {
    seconds: [0.25, 0.75],
    rate: [40, 0],
    processes: [
      { name: "server", cores: [1, 0], mib: [2, 1] },
      { name: "engines", cores: [0, 0], mib: [0, 0] },
    ],
  });
  t.same(distribution("none", new Samples()), []);
  const samples = new Samples();
  for (let n = 1; n <= 1_000; n++) samples.add(n);
  const [curve] = distribution("some", samples);
  t.equal(curve?.ms.length, SHARES.length);
  t.same([curve?.ms[0], curve?.ms.at(-1)], [1, 999]);
});

t.test("a terminal has one live line, other outputs a line for each step", async (t) => {
  const written = (isTTY: boolean): string => {
    let text = "";
    const progress = new ProgressLine({ isTTY, columns: 20, write: (part) => (text += part) });
    progress.step("round 1");
    progress.live("5 ended after 1 s, 5/s");
    progress.step("round 2");
    progress.clear();
    return text;
  };
  t.equal(written(false), "round 1\nround 2\n");
  const clear = "\r\u001b[2K";
  t.equal(written(true), `${clear}round 1${clear}round 1: 5 ended af${clear}round 2${clear}`);
});
