import t from "tap";
import { checkTemplates, renderDeep, renderText } from "#actors/rules/template/render";

const VALUES = {
  payload: { s: "a b", n: 3, l: [1, 2], o: { k: "v" }, nil: null, yes: true, empty: "" },
  run: null,
};

function rendered(template: string): string {
  try {
    return renderText("body", template, VALUES);
  } catch (cause) {
    return `! ${(cause as Error).message}`;
  }
}

t.test("expressions print as clients know them", async (t) => {
  const cases: [string, string][] = [
    ["plain { text }", "plain { text }"],
    ["{{ payload.s }}|{{payload['s']}}|{{ payload.l[0] }}|{{ payload.o.k }}", "a b|a b|1|v"],
    ["{{ payload.nil }} {{ payload.yes }} {{ payload.l }} {{ payload.o }} {{ 1.5 }}", 'None True [1, 2] {"k": "v"} 1.5'],
    ["{{ payload.n * 2 }} {{ 7 // 2 }} {{ 7 % 3 }} {{ 2 ** 3 }} {{ 'a' ~ 1 }}", "6 3 1 8 a1"],
    ["{{ payload.s | upper }}{{ payload.l | tojson }}{{ payload.o | tojson }}", 'A B[1,2]{"k":"v"}'],
    ["{{ payload.missing | default('d') }}{{ nope | default('e') }}", "de"],
    ["{% if payload.n > 2 %}big{% else %}small{% endif %}", "big"],
    ["{% for x in payload.l %}{{ loop.index }}:{{ x }};{% endfor %}", "1:1;2:2;"],
    ["{% for k, v in payload.o %}{{ k }}={{ v }}{% endfor %}{% for x in [] %}x{% else %}none{% endfor %}", "k=vnone"],
    ["{% set y = 4 %}{{ y + 1 }}{% raw %}{{ x }}{% endraw %}", "5{{ x }}"],
    ["{{ 'yes' if payload.yes else 'no' }}{{ payload.nope is defined }}{{ payload.n is defined }}", "yesFalseTrue"],
    ["{{ payload.s | replace('a', 'z') }}|{{ payload.l | length }}|{{ payload.l | join('-') }}|{{ '<b>' }}", "z b|2|1-2|<b>"],
    [
      "{{ range(3) }}{{ [3, 1] | sort }}{{ payload.l | first }}{{ payload.l | last }}{{ 2.345 | round(1) }}",
      "[0, 1, 2][1, 3]122.3",
    ],
    ["{{ 'HELLO world' | title }}{{ payload.o | dictsort }}{{ 1 in payload.l and not false }}", 'Hello World[["k", "v"]]True'],
  ];
  for (const [template, expected] of cases) t.equal(rendered(template), expected, template);
});

t.test("what is not defined fails wherever it is used", async (t) => {
  const uses = ["{{ nope }}", "{{ payload.nope }}", "{{ nope | upper }}", "{% if nope %}x{% endif %}", "{{ nope or 'x' }}"];
  const more = [
    "{% for x in nope %}x{% endfor %}",
    "{{ nope.a }}",
    "{{ nope == 1 }}",
    "{{ run.name }}",
    "{{ 'x' if nope else 'y' }}",
  ];
  for (const template of [...uses, ...more]) t.match(rendered(template), /^! template error in body: /, template);
  t.equal(rendered("{{ nope }}"), "! template error in body: undefined value: nope (in <string>:1)");
});

t.test("nothing but the values given can be reached", async (t) => {
  const attempts = [
    "{{ payload.constructor }}",
    "{{ payload.__proto__ }}",
    "{{ ''['constructor'] }}",
    "{{ payload.s.length.constructor }}",
    "{{ payload['constr' ~ 'uctor'] }}",
    "{{ payload.l.map }}",
    "{{ payload.s.replace('a', 'b') }}",
    "{{ range.constructor('return process')() }}",
    "{{ cycler('a') }}",
    "{{ joiner }}",
    "{% include 'x' %}",
    "{% macro m() %}{% endmacro %}",
    "{% import 'x' as y %}",
    "{{ payload.l | map('constructor') }}",
    "{{ payload.s | replace(r/a/, 'b') }}",
    "{{ toString }}",
    "{{ {}.constructor }}",
  ];
  for (const template of attempts) t.match(rendered(template), /^! /, template);
});

t.test("template bombs end within milliseconds and little memory", async (t) => {
  const nested = `${"{% for a in range(1000) %}".repeat(6)}x${"{% endfor %}".repeat(6)}`;
  const doubling = `{% set s = 'xxxxxxxxxxxxxxxx' %}${"{% set s = s ~ s %}".repeat(60)}{{ s }}`;
  const bombs = [
    nested,
    doubling,
    "{{ range(0, 1000000000) | length }}",
    "{{ range(0, 10, 0) }}",
    `{{ ${"(".repeat(7000)}1${")".repeat(7000)} }}`,
    `{{ ${"-".repeat(15000)}1 }}`,
    `{{ ${"a.".repeat(7000)}b }}`,
    "x".repeat(100_000).concat("{{ 1 }}"),
    `{% for a in range(1000) %}${"{{ payload | tojson }}".repeat(500)}{% endfor %}`,
  ];
  const before = process.memoryUsage().rss;
  for (const bomb of bombs) {
    const start = performance.now();
    t.match(rendered(bomb), /^! /, bomb.slice(0, 60));
    // Ten times what it is meant to take.
    t.ok(performance.now() - start < 3_000, `${bomb.slice(0, 40)} took ${Math.round(performance.now() - start)} ms`);
  }
  t.ok(process.memoryUsage().rss - before < 1_000_000_000);
});

t.test("texts inside maps and lists are rendered, everything else stays", async (t) => {
  t.same(renderDeep("parameters", { a: ["{{ payload.n }}", 1, null], b: { c: "x" } }, VALUES), {
    a: ["3", 1, null],
    b: { c: "x" },
  });
  t.throws(() => renderDeep("parameters", { a: "{{ nope }}" }, VALUES), { message: /template error in parameters.a: / });
});

t.test("what cannot be parsed is found before anything fires", async (t) => {
  t.equal(checkTemplates("body", "{{ fine }}"), null);
  t.match(checkTemplates("body", "{{ a"), /^body template: /);
  t.match(checkTemplates("parameters", { x: ["{% if %}"] }), /^parameters.x template: /);
  t.match(checkTemplates("body", "{{ x | nope }}"), /unknown filter "nope"; known: upper/);
});
