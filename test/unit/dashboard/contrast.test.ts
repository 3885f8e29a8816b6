/**
 * The colours of the dashboard: WCAG AA contrast in both themes, and distinguishable chart neighbours for three kinds of
 * colour vision.
 */
import { readFileSync } from "node:fs";
import t from "tap";

type Rgb = readonly number[];
type Matrix = readonly Rgb[];
type Theme = "light" | "dark";

const css = readFileSync(new URL("../../../dashboard/styles/tokens.css", import.meta.url), "utf8");
const tokens = new Map([...css.matchAll(/--([\w-]+):\s*([^;]+);/g)].map(([, name = "", value = ""]) => [name, value.trim()]));
const STATES = [...tokens.keys()].flatMap((name) => /^st-(.+)-text$/.exec(name)?.[1] ?? []);
const SURFACES = ["page", "panel", "raised", "sunken", "hover", "select"];

function colour(name: string, theme: Theme): Rgb {
  const value = tokens.get(name) ?? "";
  const alias = /^var\(--([\w-]+)\)$/.exec(value)?.[1];
  if (alias !== undefined) return colour(alias, theme);
  const pair = /^light-dark\((#\w{6}), (#\w{6})\)$/.exec(value);
  if (pair === null) throw new Error(`--${name} is no light-dark() pair`);
  const hex = pair[theme === "light" ? 1 : 2] ?? "";
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255);
}

const linear = (rgb: Rgb) => rgb.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
const dot = (a: Rgb, b: Rgb) => a.reduce((sum, part, at) => sum + part * (b[at] ?? 0), 0);
const luminance = (rgb: Rgb) => dot(linear(rgb), [0.2126, 0.7152, 0.0722]);

function ratio(a: Rgb, b: Rgb): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

/** Full-strength colour-vision matrices on linear RGB (Machado, Oliveira, Fernandes 2009). */
const VISION: Readonly<Record<string, Matrix>> = {
  usual: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

const TO_LMS: Matrix = [
  [0.4122214708, 0.5363325363, 0.0514459929],
  [0.2119034982, 0.6806995451, 0.1073969566],
  [0.0883024619, 0.2817188376, 0.6299787005],
];
const TO_OKLAB: Matrix = [
  [0.2104542553, 0.793617785, -0.0040720468],
  [1.9779984951, -2.428592205, 0.4505937099],
  [0.0259040371, 0.7827717662, -0.808675766],
];
const times = (matrix: Matrix, vector: Rgb) => matrix.map((row) => dot(row, vector));

function seen(rgb: Rgb, vision: Matrix): Rgb {
  const light = times(vision, linear(rgb)).map((part) => Math.max(0, part));
  return times(TO_OKLAB, times(TO_LMS, light).map(Math.cbrt));
}

function distance(a: Rgb, b: Rgb, vision: Matrix): number {
  const other = seen(b, vision);
  return Math.hypot(...seen(a, vision).map((part, at) => part - (other[at] ?? 0)));
}

/** Pairs that are adjacent in a stack, or that have opposite meanings. */
const NEIGHBOURS = [
  ["completed", "running"],
  ["completed", "failed"],
  ["completed", "late"],
  ["running", "failed"],
  ["running", "late"],
  ["late", "failed"],
  ["failed", "crashed"],
  ["completed", "cached"],
  ["cached", "running"],
] as const;
const TEXT_MIN = 4.5;
const MARK_MIN = 3;
const APART_MIN = 0.08;

for (const theme of ["light", "dark"] as const) {
  t.test(`contrast in the ${theme} theme`, async (t) => {
    const bad: string[] = [];
    const expect = (one: string, other: string, least: number) => {
      const value = ratio(colour(one, theme), colour(other, theme));
      if (value < least) bad.push(`${one} on ${other} is ${value.toFixed(2)}, needs ${least}`);
    };
    t.ok(STATES.length >= 16);
    for (const surface of SURFACES) {
      for (const ink of ["ink", "ink-2", "ink-3"]) expect(ink, surface, TEXT_MIN);
      for (const state of STATES) {
        expect(`st-${state}-text`, surface, TEXT_MIN);
        expect(`st-${state}`, surface, MARK_MIN);
      }
      expect("focus", surface, MARK_MIN);
    }
    for (const surface of ["page", "panel", "raised"]) expect("control", surface, MARK_MIN);
    for (const state of STATES) {
      expect(`st-${state}-text`, `st-${state}-tint`, TEXT_MIN);
      expect("ink-2", `st-${state}-tint`, TEXT_MIN);
      expect(`st-${state}`, `st-${state}-tint`, MARK_MIN);
      expect("panel", `st-${state}`, MARK_MIN);
    }
    expect("panel", "ink", TEXT_MIN);
    for (const part of ["completed", "cached", "running", "late", "failed", "timed-out", "crashed", "waiting"])
      expect(`chart-${part}`, "panel", MARK_MIN);
    t.same(bad, []);
  });

  t.test(`neighbours in charts of the ${theme} theme`, async (t) => {
    for (const [a, b] of NEIGHBOURS)
      for (const [name, vision] of Object.entries(VISION)) {
        const apart = distance(colour(`chart-${a}`, theme), colour(`chart-${b}`, theme), vision);
        t.ok(apart >= APART_MIN, `${a} and ${b}, ${name}: ${apart.toFixed(2)}`);
      }
  });
}

t.test("every token is used", async (t) => {
  const { globSync } = await import("node:fs");
  const root = new URL("../../../dashboard/", import.meta.url);
  const files = globSync("**/*.{css,ts,tsx}", { cwd: root });
  const text = files.map((file) => readFileSync(new URL(file, root), "utf8")).join("\n");
  const unused = [...tokens.keys()].filter((name) => !text.includes(`var(--${name})`) && !isStateOrChart(name));
  t.same(unused, []);
});

/** States and charts get their tokens by name. */
function isStateOrChart(name: string): boolean {
  return /^(?:st|chart)-/.test(name);
}
