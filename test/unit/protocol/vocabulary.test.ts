import t from "tap";
import { nearestName } from "#protocol/values/nearest-name";
import {
  checkEmittedName,
  checkMatchedName,
  checkReportedName,
  EVENTS,
  RESERVED_PREFIXES,
  STATES,
  VOCABULARY,
} from "#protocol/vocabulary";

t.test("33 events, each once and under a reserved prefix; then those that are no part of the interface", async (t) => {
  t.same(
    EVENTS.slice(33).map(({ name }) => name),
    ["clock.stepped", "engine.blocked"],
  );
  t.equal(new Set(EVENTS.map(({ name }) => name)).size, EVENTS.length);
  t.match(checkEmittedName("clock.stepped"), /only the server records it$/);
  t.equal(checkEmittedName("clock.wound"), null, "their prefix is free");
  t.equal(checkMatchedName("clock.stepped"), null);
  for (const { name } of EVENTS.slice(0, 33))
    t.ok(
      RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix)),
      name,
    );
});

t.test("states: nine types, then the sub-states with their types", async (t) => {
  t.equal(STATES.length, 16);
  t.same(
    STATES.slice(9).map(({ name, state_type, is_sub_state }) => [name, state_type, is_sub_state]),
    [
      ["Late", "Scheduled", true],
      ["AwaitingRetry", "Scheduled", true],
      ["AwaitingResource", "Scheduled", true],
      ["Retrying", "Running", true],
      ["TimedOut", "Failed", true],
      ["Cached", "Completed", true],
      ["Skipped", "Completed", true],
    ],
  );
  t.ok(STATES.slice(0, 9).every(({ name, state_type, is_sub_state }) => name === state_type && !is_sub_state));
  t.same(JSON.parse(JSON.stringify(VOCABULARY)), VOCABULARY);
});

t.test("names under a reserved prefix are refused; the nearest real one is named", async (t) => {
  for (const name of ["run.failed", " rule.fired\n"])
    t.match(checkEmittedName(name), /only the server records events under "(run|rule)\."$/, "also those of the catalogue");
  t.equal(checkMatchedName("run.failed"), null, "rules match them");
  t.match(checkEmittedName("run.faild"), /did you mean "run\.failed"\?/);
  t.match(checkEmittedName("schedule.pause"), /did you mean "schedule\.paused"\?/);
  t.match(checkEmittedName("run.finished"), /did you mean "run\.completed"\?/, "by what it means, where letters say nothing");
  t.match(checkMatchedName("task_run.started"), /did you mean "task_run\.running"\?/);
  t.match(checkEmittedName("run.updated"), /run\.updated/);
  t.match(checkEmittedName("run.something.entirely.else"), /known: run\.scheduled, run\.pending/);
  t.type(checkEmittedName("run"), "string");
  t.type(checkEmittedName("  "), "string");
});

t.test("other names are never checked", async (t) => {
  for (const name of ["order.paid", "runs.failed", "running", "Run.failed", "ürün"]) t.equal(checkEmittedName(name), null, name);
});

t.test("a report's names are refused for the same reasons, in a time that does not grow with them", async (t) => {
  for (const name of ["", " ", "run.failed", "run.nonsense", "run.", "flow", "run.*", "n".repeat(1_001)]) {
    t.type(checkReportedName(name), "string", name);
    t.type(checkEmittedName(name), "string", name);
  }
  for (const name of ["order.paid", "n".repeat(1_000), "😀".repeat(1_000)]) t.equal(checkReportedName(name), null);
});

t.test("a wildcard is a match, not a name", async (t) => {
  t.equal(checkMatchedName("run.*"), null);
  t.equal(checkMatchedName("rule.action.*"), null);
  t.equal(checkMatchedName("order.*"), null);
  t.equal(checkMatchedName("*"), null);
  t.type(checkMatchedName("run.x*"), "string");
  t.type(checkEmittedName("run.*"), "string");
});

t.test("nearest name by edit distance, null when none is close", async (t) => {
  t.equal(nearestName("Faild", ["Completed", "Failed"]), "Failed");
  t.equal(nearestName("running", ["Running"]), "Running");
  t.equal(nearestName("banana", ["Completed", "Failed"]), null);
});

t.test("a name much longer than those it may mean is compared with none of them", async (t) => {
  // Compared letter by letter, these would take hours, and the test would not end.
  const known = Array.from({ length: 1_000 }, () => "y".repeat(1_000));
  t.equal(nearestName("x".repeat(1_000_000), known), null);
});

t.test("the refusal of a name of 1 MB states the limit and does not repeat the name", async (t) => {
  for (const name of [`run.${"x".repeat(1_000_000)}`, "x".repeat(1_000_000)])
    for (const check of [checkEmittedName, checkReportedName, checkMatchedName])
      t.equal(check(name), "event name: expected at most 1000 characters");
});
