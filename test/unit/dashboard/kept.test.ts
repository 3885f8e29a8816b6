/** Data that the dashboard stores in the browser, and values that people type. */
import t from "tap";
import { kindOfText, textOfValue, valueOfText } from "../../../dashboard/parts/json-text.ts";
import { parseViews, VIEWS_MAX, viewQuery } from "../../../dashboard/state/saved-views.ts";

t.test("saved views survive whatever is kept", async (t) => {
  const views = [{ name: "Night shift", query: "states=Failed" }];
  t.same(parseViews(JSON.stringify(views)), views);
  for (const kept of [null, "", "{", "7", '{"name":"x"}', "[null, 1, {}]", '[{"name":"","query":"a"}]', '[{"name":"x"}]'])
    t.same(parseViews(kept), [], String(kept));
  const many = Array.from({ length: 20 }, (_, index) => ({ name: `v${index}`, query: "" }));
  t.equal(parseViews(JSON.stringify(many)).length, VIEWS_MAX);
});

t.test("a view is the same in whatever order its filters were chosen", async (t) => {
  t.equal(viewQuery("state=Failed&project=shop"), viewQuery("?project=shop&state=Failed"));
});

t.test("typed text is JSON where it can be, and every value can be typed again", async (t) => {
  t.equal(valueOfText("https://example.org"), "https://example.org");
  t.same(valueOfText('["a"]'), ["a"]);
  t.same(["", "x", "7", "null", "[1]", "{}", "true"].map(kindOfText), [
    "text",
    "text",
    "a number",
    "null",
    "a list",
    "an object",
    "a boolean",
  ]);
  for (const value of ["plain", "7", "null", 7, null, true, ["a"], { a: [1] }, ""])
    t.same(valueOfText(textOfValue(value)), value, JSON.stringify(value));
});
