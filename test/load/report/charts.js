// Draws the charts of a report, inlined into it together with uPlot. The data stands in a script element of the page.
(() => {
  const HEIGHT = 220;
  const PALETTE = ["#2f6fd0", "#d9822b", "#3a9e5c", "#b5446e", "#7a5cc4", "#7f8c2d"];
  const root = getComputedStyle(document.documentElement);
  const text = root.getPropertyValue("--text").trim();
  const line = root.getPropertyValue("--line").trim();
  const drawn = [];

  const shown = (value, unit) => (value == null ? "" : `${Number(value.toPrecision(3)).toLocaleString("en-US")} ${unit}`);
  // One request in n is slower: the share of those that are not.
  const percentile = (n) => (n <= 1 ? "fastest" : `p${Number((100 * (1 - 1 / n)).toFixed(2))}`);

  for (const { element, chart } of JSON.parse(document.getElementById("charts").textContent)) {
    const place = document.getElementById(element);
    const isTime = chart.x === "time";
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
    const plot = new uPlot(
      {
        title: chart.title,
        width: place.clientWidth,
        height: HEIGHT,
        scales: {
          x: isTime ? { time: false } : { time: false, distr: 3 },
          y: { range: { min: { pad: 0, hard: 0, mode: 1 }, max: { pad: 0.1 } } },
        },
        series: [
          {
            label: isTime ? "s" : "percentile",
            value: (_plot, value) => (value == null ? "" : isTime ? value.toFixed(2) : percentile(value)),
          },
          ...chart.series.map(({ label, color, dashed }) => ({
            label,
            stroke: PALETTE[color % PALETTE.length],
            width: 1.5,
            dash: dashed ? [6, 4] : undefined,
            spanGaps: true,
            points: { show: !isTime },
            value: (_plot, value) => shown(value, chart.unit),
          })),
        ],
        axes: [
          isTime
            ? { ...axis, values: (_plot, values) => values.map((value) => `${value} s`) }
            : {
                ...axis,
                splits: () => [1, 2, 10, 100, 1000],
                filter: (_plot, splits) => splits,
                values: (_plot, splits) => splits.map(percentile),
              },
          { ...axis, size: 70, values: (_plot, values) => values.map((value) => shown(value, chart.unit)) },
        ],
      },
      chart.data,
      place,
    );
    drawn.push({ plot, place });
  }
  addEventListener("resize", () => {
    for (const { plot, place } of drawn) plot.setSize({ width: place.clientWidth, height: HEIGHT });
  });
})();
