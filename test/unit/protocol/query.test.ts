import t from "tap";
import type { TSchema } from "typebox";
import { EventsQuery } from "#protocol/records/event";
import { LogsQuery } from "#protocol/records/log";
import { RunsQuery } from "#protocol/records/run";
import { UpcomingQuery } from "#protocol/records/upcoming";
import { parsePathId, parseQuery } from "#protocol/routes/query";

function refusal(schema: TSchema, text: string): { status: number; message: string } {
  const parsed = parseQuery(schema, text);
  if (parsed.ok) throw new Error(`${text} was accepted`);
  return parsed.refusal;
}

function accepted(schema: TSchema, text: string): Record<string, unknown> {
  const parsed = parseQuery(schema, text);
  if (!parsed.ok) throw new Error(parsed.refusal.message);
  return parsed.query as Record<string, unknown>;
}

t.test("defaults are filled and unknown names ignored, also when they repeat", async (t) => {
  t.same(accepted(RunsQuery, ""), { sort: "created_desc", limit: 50 });
  t.same(accepted(RunsQuery, "nope=1&nope=2"), { sort: "created_desc", limit: 50 });
  t.same(accepted(EventsQuery, ""), { limit: 100, ascending: false });
});

t.test("limits: 0 is raised to 1, too large ones are lowered, negative and non-numbers are 400", async (t) => {
  t.equal(accepted(RunsQuery, "limit=0")["limit"], 1);
  t.equal(accepted(RunsQuery, "limit=501")["limit"], 500);
  t.equal(accepted(LogsQuery, "limit=999999999999")["limit"], 10_000);
  t.equal(accepted(UpcomingQuery, "projected=0")["projected"], 0);
  t.equal(accepted(UpcomingQuery, "projected=101")["projected"], 100);
  for (const text of ["limit=-1", "limit=", "limit=x", "limit=1.5", "limit=1e3", "limit=%201"]) {
    const { status, message } = refusal(RunsQuery, text);
    t.equal(status, 400, text);
    t.match(message, /limit.*expected an integer/);
  }
});

t.test("a known name given twice is 400", async (t) => {
  const { status, message } = refusal(RunsQuery, "flow=a&flow=a");
  t.equal(status, 400);
  t.match(message, /flow/);
});

t.test("int64 values: the whole range passes, beyond it is 400", async (t) => {
  t.equal(accepted(RunsQuery, "flow_id=-5")["flow_id"], -5);
  t.equal(accepted(RunsQuery, "cursor=9223372036854775807")["cursor"], 2 ** 63);
  t.equal(accepted(RunsQuery, "start_after=-9223372036854775808")["start_after"], -(2 ** 63));
  t.equal(refusal(RunsQuery, "flow_id=9223372036854775808").status, 400);
  t.equal(refusal(RunsQuery, `flow_id=${"9".repeat(5_000)}`).status, 400);
});

t.test("values by name: a field each, at most eight, of names that a path can hold", async (t) => {
  const parameters = (text: string) => accepted(RunsQuery, text)["parameters"];
  t.same(parameters("parameters.a=1&parameters.b.c=x%20y&parameters=ignored"), { a: "1", "b.c": "x y" });
  t.equal(parameters("flow=a"), undefined);
  t.match(refusal(RunsQuery, "parameters.a=1&parameters.a=2"), { status: 400, message: /parameters\.a/ });
  for (const name of ["", '"', "%5C"])
    t.match(refusal(RunsQuery, `parameters.${name}=1`), { status: 400, message: /a name without/ });
  t.equal(refusal(RunsQuery, `parameters.a=${"x".repeat(201)}`).status, 400);
  const many = Array.from({ length: 9 }, (_, index) => `parameters.p${index}=1`).join("&");
  t.match(refusal(RunsQuery, many), { status: 400, message: /at most 8/ });
});

t.test("booleans are true or false only", async (t) => {
  t.equal(accepted(EventsQuery, "ascending=true")["ascending"], true);
  for (const text of ["1", "True", "", "yes"]) t.equal(refusal(EventsQuery, `ascending=${text}`).status, 400, text);
});

t.test("log levels: numbers or words in any case; an unknown word is 422", async (t) => {
  t.equal(accepted(LogsQuery, "level=25")["level"], 25);
  t.equal(accepted(LogsQuery, "level=warning")["level"], 30);
  t.equal(accepted(LogsQuery, "level=Warn")["level"], 30);
  t.equal(accepted(LogsQuery, "level=CRITICAL")["level"], 50);
  const unknown = refusal(LogsQuery, "level=loud");
  t.equal(unknown.status, 422);
  t.match(unknown.message, /loud.*DEBUG, INFO/);
  t.equal(accepted(LogsQuery, "level=")["level"], undefined, "every level");
});

t.test("an unknown sort means the default; tags are split; text is decoded", async (t) => {
  t.equal(accepted(RunsQuery, "sort=best")["sort"], "created_desc");
  t.equal(accepted(RunsQuery, "sort=name_asc")["sort"], "name_asc");
  t.same(accepted(RunsQuery, "tags=a, b,,c")["tags"], ["a", "b", "c"]);
  t.equal(accepted(RunsQuery, "name=a%20b+c")["name"], "a b c");
  t.match(refusal(RunsQuery, `search=${"x".repeat(201)}`), { status: 400, message: /at most 200 characters/ });
});

t.test("path ids: no int64 is 400, beyond 2^53 is not found", async (t) => {
  t.same(parsePathId("id", "17"), { ok: true, id: 17 });
  for (const text of ["", "x", "1.0", "9223372036854775808"]) {
    const parsed = parsePathId("id", text);
    t.match(parsed, { ok: false, refusal: { status: 400 } }, text);
  }
  t.match(parsePathId("id", "9007199254740993"), { ok: false, refusal: { status: 404 } });
});
