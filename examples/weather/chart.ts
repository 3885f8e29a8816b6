/** Charts as SVG text that follow the reader's light or dark setting. */

import { type HourSummary, type MonthSummary, tellingHours } from "./summaries.ts";

export const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const WIDTH = 760;
const HEIGHT = 360;
/** Room around the plot for the title above, the labels at the sides and below. */
const PLOT = { left: 52, right: WIDTH - 72, top: 76, bottom: HEIGHT - 44 };

const STYLE = `
svg { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; color-scheme: light dark }
.paper { fill: #ffffff } .ink { fill: #1d2733 } .faint { fill: #66727f } .grid { stroke: #e3e7ec }
.rain { fill: #8fb8d8 } .band { fill: #e59a6f; fill-opacity: .28 } .high { stroke: #c2552d } .low { stroke: #3c6fa8 }
.bar { fill: #5c7fa3 } .late { fill: #c2552d } .line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
.title { font-size: 17px; font-weight: 600 } .end { text-anchor: end } .middle { text-anchor: middle }
.high-text { fill: #a8431f } .low-text { fill: #2f5f96 } .rain-text { fill: #3f7099 }
@media (prefers-color-scheme: dark) {
  .paper { fill: #14181d } .ink { fill: #e6eaee } .faint { fill: #93a0ad } .grid { stroke: #2a313a }
  .rain { fill: #33597a } .band { fill-opacity: .22 } .bar { fill: #6f93b8 } .late { fill: #e0764c }
  .high { stroke: #e0764c } .low { stroke: #6fa0d6 } .high-text { fill: #f09a75 } .low-text { fill: #8db8e6 } .rain-text { fill: #86b4d8 }
}`;

type Scale = (value: number) => number;

/** Temperatures as a band between mean low and mean high, rain as bars behind it. */
export function weatherChart(months: readonly MonthSummary[], place: string): string {
  const step = (PLOT.right - PLOT.left) / 12;
  const x = (month: number) => PLOT.left + (month - 0.5) * step;
  const temperatures = months.flatMap((month) => [month.meanMinC, month.meanMaxC]);
  const degrees = scale(Math.min(0, ...temperatures), roundUp(Math.max(...temperatures), 5));
  const millimetres = scale(0, roundUp(Math.max(...months.map((month) => month.precipitationMm)), 50));
  const highs = months.map((month) => [x(month.month), degrees(month.meanMaxC)] as const);
  const lows = months.map((month) => [x(month.month), degrees(month.meanMinC)] as const);
  const bars = months.map((month) => bar("rain", x(month.month), step * 0.56, millimetres(month.precipitationMm)));
  const names = months.map((month) => label(MONTHS[month.month - 1] ?? "", x(month.month), PLOT.bottom + 20, "faint middle"));
  const warmest = months.reduce((best, month) => (month.meanMaxC > best.meanMaxC ? month : best));
  const wettest = months.reduce((best, month) => (month.precipitationMm > best.precipitationMm ? month : best));
  return svg(`Weather in ${place} by month`, [
    heading(`Weather in ${place} by month`, "Mean daily high and low, and precipitation of an average month"),
    ...ticks(degrees, 5, (value) => `${value}\u00a0\u00b0C`, "left"),
    ...ticks(millimetres, 50, (value) => `${value}\u00a0mm`, "right"),
    ...bars,
    `<path class="band" d="${path(highs)} ${path(lows.toReversed()).replace("M", "L")} Z"/>`,
    `<path class="line high" d="${path(highs)}"/>`,
    `<path class="line low" d="${path(lows)}"/>`,
    label(`${warmest.meanMaxC.toFixed(1)}\u00a0\u00b0C`, x(warmest.month), degrees(warmest.meanMaxC) - 9, "high-text middle"),
    label(
      `${wettest.precipitationMm.toFixed(0)}\u00a0mm`,
      x(wettest.month),
      millimetres(wettest.precipitationMm) - 7,
      "rain-text middle",
    ),
    ...names,
  ]);
}

/** Share of late flights by hour, without hours that have too few flights. */
export function delayChart(hours: readonly HourSummary[]): string {
  const told = tellingHours(hours);
  const first = Math.min(...told.map((hour) => hour.hour));
  const step = (PLOT.right - PLOT.left) / (Math.max(...told.map((hour) => hour.hour)) - first + 1);
  const x = (hour: number) => PLOT.left + (hour - first + 0.5) * step;
  const percent = scale(0, roundUp(100 * Math.max(...told.map((hour) => hour.lateShare)), 10));
  const worst = told.reduce((most, hour) => (hour.lateShare > most.lateShare ? hour : most));
  const best = told.reduce((least, hour) => (hour.lateShare < least.lateShare ? hour : least));
  const bars = told.map((hour) => bar(hour === worst ? "late" : "bar", x(hour.hour), step * 0.72, percent(100 * hour.lateShare)));
  const names = told
    .filter((hour) => hour.hour % 3 === 0)
    .map((hour) => label(`${String(hour.hour).padStart(2, "0")}:00`, x(hour.hour), PLOT.bottom + 20, "faint middle"));
  return svg("Late flights by hour of departure", [
    heading("Late flights by hour of departure", "Share more than 15 minutes late; hours with very few flights are left out"),
    ...ticks(percent, 10, (value) => `${value}\u00a0%`, "left"),
    ...bars,
    ...[worst, best].map((hour) =>
      label(`${(100 * hour.lateShare).toFixed(0)}\u00a0%`, x(hour.hour), percent(100 * hour.lateShare) - 7, "ink middle"),
    ),
    ...names,
  ]);
}

/** An SVG as a data URI. */
export function dataUri(svgText: string): string {
  return `data:image/svg+xml;base64,${Buffer.from(svgText).toString("base64")}`;
}

function svg(title: string, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" role="img">`,
    `<title>${escaped(title)}</title><style>${STYLE}</style>`,
    `<rect class="paper" width="${WIDTH}" height="${HEIGHT}" rx="8"/>`,
    ...parts,
    "</svg>",
  ].join("\n");
}

function heading(title: string, subtitle: string): string {
  return `${label(title, 24, 34, "ink title")}${label(subtitle, 24, 55, "faint")}`;
}

function label(text: string, x: number, y: number, className: string): string {
  return `<text class="${className}" x="${fixed(x)}" y="${fixed(y)}">${escaped(text)}</text>`;
}

function bar(className: string, x: number, width: number, top: number): string {
  const height = Math.max(0, PLOT.bottom - top);
  return `<rect class="${className}" x="${fixed(x - width / 2)}" y="${fixed(top)}" width="${fixed(width)}" height="${fixed(height)}" rx="2"/>`;
}

/** Labels at one side; the left side has the grid lines. */
function ticks(
  at: Scale & { min: number; max: number },
  step: number,
  text: (value: number) => string,
  side: "left" | "right",
): string[] {
  const values: number[] = [];
  for (let value = Math.ceil(at.min / step) * step; value <= at.max; value += step) values.push(value);
  return values.map((value) => {
    const y = at(value);
    if (side === "right") return label(text(value), PLOT.right + 6, y + 4, "faint");
    const line = `<line class="grid" x1="${PLOT.left}" x2="${PLOT.right}" y1="${fixed(y)}" y2="${fixed(y)}"/>`;
    return line + label(text(value), PLOT.left - 8, y + 4, "faint end");
  });
}

/** Maps a value to its height in the plot. */
function scale(min: number, max: number): Scale & { min: number; max: number } {
  const at = (value: number) => PLOT.bottom - ((value - min) / (max - min)) * (PLOT.bottom - PLOT.top);
  return Object.assign(at, { min, max });
}

function path(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${fixed(x)} ${fixed(y)}`).join(" ");
}

function roundUp(value: number, step: number): number {
  return Math.ceil(value / step) * step;
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
