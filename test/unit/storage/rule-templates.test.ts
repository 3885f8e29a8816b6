import t from "tap";
import { parseJson } from "#protocol/values/json";
import { Budget } from "#storage/templates/budget";
import { checkTemplates, renderDeep, renderText } from "#storage/templates/render";
import { TEMPLATE_BOMBS } from "../../support/template-bombs.ts";

const VALUES = {
  payload: { s: "a b", n: 3, l: [1, 2], o: { k: "v" }, nil: null, yes: true, empty: "" },
  run: null,
};

function rendered(template: string): string {
  try {
    return renderText("body", template, VALUES, new Budget());
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

t.test("templates that try to take long end soon, at the same point each time, and leave little memory behind", async (t) => {
  const rows = Array.from({ length: 2_000 }, (_, row) => ({ row, text: "x".repeat(200) }));
  const before = process.memoryUsage().rss;
  for (const [name, bomb] of Object.entries(TEMPLATE_BOMBS)) {
    const spent: number[] = [];
    for (let round = 0; round < 2; round += 1) {
      const budget = new Budget();
      const startMs = performance.now();
      t.throws(
        () => renderText("body", bomb, { payload: { rows, n: 3 } }, budget),
        { message: /^template error in body: / },
        name,
      );
      const tookMs = performance.now() - startMs;
      // Ten times the expected duration.
      t.ok(tookMs < 3_000, `${name} took ${Math.round(tookMs)} ms`);
      spent.push(budget.spent);
    }
    t.equal(spent[0], spent[1], name);
  }
  t.ok(process.memoryUsage().rss - before < 1_000_000_000);
});

t.test("integers beyond 2^53 keep their digits", async (t) => {
  const payload = parseJson('{"id": 12345678901234567890, "list": [9007199254740993]}');
  const text =
    "{{ payload.id }} {{ payload.list }} {{ payload | tojson }} {{ payload.id is number }} {{ payload.id.rawJSON is defined }}";
  const expected = '12345678901234567890 [9007199254740993] {"id":12345678901234567890,"list":[9007199254740993]} True False';
  t.equal(renderText("body", text, { payload }, new Budget()), expected);
  t.throws(() => renderText("body", "{{ payload.id + 1 }}", { payload }, new Budget()), /is no number/);
});

t.test("texts inside maps and lists are rendered, everything else stays", async (t) => {
  t.same(renderDeep("parameters", { a: ["{{ payload.n }}", 1, null], b: { c: "x" } }, VALUES, new Budget()), {
    a: ["3", 1, null],
    b: { c: "x" },
  });
  t.throws(() => renderDeep("parameters", { a: "{{ nope }}" }, VALUES, new Budget()), {
    message: /template error in parameters.a: /,
  });
});

t.test("what cannot be parsed is found before anything fires", async (t) => {
  t.equal(checkTemplates("body", "{{ fine }}"), null);
  t.match(checkTemplates("body", "{{ a"), /^body template: /);
  t.match(checkTemplates("parameters", { x: ["{% if %}"] }), /^parameters.x template: /);
  t.match(checkTemplates("body", "{{ x | nope }}"), /unknown filter "nope"; known: upper/);
});
