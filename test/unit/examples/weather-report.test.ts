import t from "tap";
import { dataUri, delayChart, weatherChart } from "../../../examples/weather/chart.ts";
import { airportName, markdownTable, renderReport } from "../../../examples/weather/report.ts";

const months = Array.from({ length: 12 }, (_, index) => ({
  month: index + 1,
  days: 30,
  meanMaxC: index === 6 ? 25.4 : 10,
  meanMinC: 1,
  precipitationMm: index === 10 ? 160 : index === 6 ? 12 : 80,
  wetShare: 0.5,
}));
const delay = { meanDelayMin: 4, medianDelayMin: 1 };
const hours = [
  { hour: 5, flights: 100, ...delay, lateShare: 0.05 },
  { hour: 21, flights: 100, ...delay, lateShare: 0.4 },
];

t.test("the report leads with what stands out", async (t) => {
  const text = renderReport({
    place: "Seattle",
    days: { records: [1, 2], dropped: {} },
    flights: { records: [1], dropped: { "delay is missing": 3 } },
    months,
    origins: [
      { origin: "AAA", flights: 1200, ...delay, lateShare: 0.1 },
      { origin: "BBB", flights: 10, ...delay, lateShare: 0.3 },
    ],
    hours,
    airports: { BBB: "Boston" },
  });
  t.match(text, /\*\*November\*\* is the wettest month in Seattle with 160 mm, July the driest with 12 mm/);
  t.match(text, /\*\*July\*\* is the warmest: 25\.4 °C/);
  t.match(text, /leave at 05:00, \*\*5 %\*\* are late; at 21:00 it is \*\*40 %\*\*/);
  t.match(text, /\*\*Boston \(BBB\)\*\* sends off the most late flights: 30 %/);
  t.match(text, /\| AAA +\| +1,200 \|/);
  t.match(text, /2 days of weather .* none had to be dropped\. 1 flights .* dropped: 3 \(delay is missing\)\./);
});

t.test("tables line up, text on the left and figures on the right", async (t) => {
  t.same(
    markdownTable(
      ["Name", "N"],
      [
        ["a", "1"],
        ["long one", "1,000"],
      ],
    ),
    ["| Name     |     N |", "| -------- | ----: |", "| a        |     1 |", "| long one | 1,000 |"],
  );
  t.equal(airportName("SEA", { SEA: "Seattle" }), "Seattle (SEA)");
  t.equal(airportName("SEA", {}), "SEA");
});

t.test("charts are complete pictures: every mark inside, every text escaped", async (t) => {
  for (const svg of [weatherChart(months, "A<B & C"), delayChart(hours)]) {
    t.ok(svg.startsWith("<svg ") && svg.endsWith("</svg>"));
    t.notMatch(svg, /NaN|undefined|Infinity/);
    for (const [, x = "", y = ""] of svg.matchAll(/ x="([-\d.]+)" y="([-\d.]+)"/g)) {
      t.ok(Number(x) >= 0 && Number(x) <= 760 && Number(y) >= 0 && Number(y) <= 360, `${x}, ${y}`);
    }
    t.match(dataUri(svg), /^data:image\/svg\+xml;base64,[A-Za-z0-9+/=]+$/);
  }
  t.match(weatherChart(months, "A<B & C"), /Weather in A&lt;B &amp; C by month/);
  t.equal(weatherChart(months, "Seattle").match(/class="rain"/g)?.length, 12);
  t.equal(delayChart(hours).match(/class="late"/g)?.length, 1, "the worst hour stands out");
});
