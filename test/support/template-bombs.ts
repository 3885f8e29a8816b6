/** Templates that try to run long or to fill the memory. Each must fail soon. `payload.rows` is a large list. */

const nest = (depth: number): string => `${"{% for a in range(1000) %}".repeat(depth)}x${"{% endfor %}".repeat(depth)}`;

/** A list that contains itself twice, a hundred levels deep: small to build, endless to visit. */
const TREE = `{% set s = [1] %}${"{% set s = [s, s] %}".repeat(100)}`;
const TEXT = "{% set t = payload.rows | tojson %}";

function thousandTimes(body: string): string {
  return `{% for a in range(1000) %}${body}{% endfor %}`;
}

export const TEMPLATE_BOMBS: Readonly<Record<string, string>> = {
  "nested loops": nest(6),
  "text doubled 60 times": `{% set s = 'xxxxxxxxxxxxxxxx' %}${"{% set s = s ~ s %}".repeat(60)}{{ s }}`,
  "a range of a billion": "{{ range(0, 1000000000) | length }}",
  "a range without end": "{{ range(0, 10, 0) }}",
  "opening brackets": `{{ ${"(".repeat(7000)}1${")".repeat(7000)} }}`,
  signs: `{{ ${"-".repeat(15_000)}1 }}`,
  lookups: `{{ ${"a.".repeat(7000)}b }}`,
  sums: `{{ ${"1+".repeat(8000)}1 }}`,
  "a megabyte": `${"x".repeat(1_000_000)}{{ 1 }}`,
  "a list of lists, printed": `${TREE}{{ s }}`,
  "a list of lists, compared": `${TREE}{{ s == s }}`,
  "a list of lists, as JSON": `${TREE}{{ s | tojson }}`,
  "a list of lists, sorted": `${TREE}{{ s | sort | length }}`,
  "a list of lists, joined": `${TREE}{{ s | join(',') }}`,
  "a deep list": `{% set s = [1] %}${"{% set s = [s] %}".repeat(800)}{{ s }}`,
  "a large value printed often": thousandTimes("{{ payload.rows | tojson }}".repeat(500)),
  "a large value compared often": thousandTimes(thousandTimes("{{ payload == payload }}")),
  "a large list searched often": thousandTimes(thousandTimes("{{ 'x' in payload.rows }}")),
  "a large list sorted often": thousandTimes("{{ payload.rows | sort | length }}"),
  "a large list joined by itself": thousandTimes("{{ payload.rows | join(payload.rows | tojson) | length }}"),
  "a large text in title case": `${TEXT}${thousandTimes("{{ t | title | length }}")}`,
  "a large text in upper case": `${TEXT}${thousandTimes("{% set u = t | upper %}")}`,
  "a text that replacing makes longer": `${TEXT}${thousandTimes("{% set t = t | replace('x', 'xxxxxxxx') %}")}`,
  "characters of a large text": `${TEXT}${thousandTimes("{% for c in t %}{% endfor %}")}`,
  "maps of large values": thousandTimes(thousandTimes("{{ {a: payload, b: payload}.a.n }}")),
  "a power": "{{ 9 ** 9 ** 9 ** 9 }}{{ nope }}",
  "a pattern": "{{ 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa!' | replace(r/(a+)+$/, '') }}",
};
