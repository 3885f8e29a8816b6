/** Texts of the dashboard: durations, numbers, states, the axis of a timeline, frames of the stream. */
import t from "tap";
import { duration, roughDuration, tickingDuration } from "../../../dashboard/format/duration.ts";
import { bytes, count, counted, listed, ordinal } from "../../../dashboard/format/number.ts";
import { FrameReader } from "../../../dashboard/live/frames.ts";
import { axisOf, labelsOf } from "../../../dashboard/pages/run/timeline/axis.ts";
import { lookOf, lookOfName, STATE_ORDER } from "../../../dashboard/state/look.ts";

const S = 1_000_000;

t.test("durations have their units, two at most", async (t) => {
  const cases: [number, string][] = [
    [0, "0 s"],
    [300, "0.3 ms"],
    [45_000, "45 ms"],
    [200_000, "0.2 s"],
    [9.94 * S, "9.9 s"],
    [9.96 * S, "10 s"],
    [59.6 * S, "1 m 00 s"],
    [757 * S, "12 m 37 s"],
    [3_840 * S, "1 h 04 m"],
    [183_600 * S, "2 d 3 h"],
  ];
  for (const [us, text] of cases) t.equal(duration(us), text);
  t.equal(tickingDuration(1.9 * S), "1 s", "what ticks never runs ahead");
  t.equal(roughDuration(1_020 * S), "17 min");
  t.equal(roughDuration(11 * 86_400 * S), "11 days");
});

t.test("numbers and lists", async (t) => {
  t.equal(count(1_234_567), "1,234,567");
  t.equal(counted(1, "run"), "1 run");
  t.equal(counted(12, "run"), "12 runs");
  t.same([1, 2, 3, 4, 11, 12, 13, 21, 112].map(ordinal), ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th"]);
  t.same([912, 48_230, 1_300_000_000].map(bytes), ["912 B", "48.2 kB", "1.3 GB"]);
  t.equal(listed(["a", "b", "c"]), "a, b and c");
});

t.test("a state has a look by its name, else by its type, else none of its own", async (t) => {
  t.equal(lookOf({ type: "Scheduled", name: "AwaitingResource" }).word, "Awaiting resource");
  t.same(lookOf({ type: "Scheduled", name: "Polishing" }), { token: "scheduled", word: "Polishing", loudness: "quiet" });
  t.same(lookOf({ type: "Frozen" as "Failed", name: "Frozen" }), { token: "unknown", word: "Frozen", loudness: "quiet" });
  t.equal(lookOfName("TimedOut").token, "timed-out");
});

t.test("the states of durable runs have looks of their own and are filters", async (t) => {
  for (const name of ["Sleeping", "AwaitingEvent", "AwaitingChild", "Paused", "Resuming"]) {
    t.not(lookOfName(name).token, "unknown", name);
    t.not(lookOfName(name).token, "scheduled", name);
    t.ok((STATE_ORDER as readonly string[]).includes(name), name);
  }
});

t.test("idle time is compressed, and places stay in order", async (t) => {
  const axis = axisOf(
    [
      [0, 10],
      [90, 100],
    ],
    0,
    100,
  );
  t.same(axis.idle, [{ fromUs: 10, toUs: 90 }]);
  const places = [0, 5, 10, 50, 90, 95, 100].map(axis.at);
  t.same(
    places,
    [...places].sort((a, b) => a - b),
  );
  t.equal(places[0], 0);
  t.ok(Math.abs((places.at(-1) ?? 0) - 1) < 1e-9);
  t.ok((places[4] ?? 0) - (places[2] ?? 0) < 0.05, "the idle time is narrow");
  const labels = labelsOf(axis, 0.09);
  t.same([labels[0], labels.at(-1)], [0, 100]);
  t.same(axisOf([[0, 100]], 0, 100).idle, []);
});

t.test("frames of the stream arrive in any pieces", async (t) => {
  const text = ':\n\nevent: hello\ndata: {"latest":7}\n\nid: 8\nevent: run.updated\ndata: {"name":"ä"}\n\n';
  const bytes = new TextEncoder().encode(text);
  const reader = new FrameReader();
  const frames = [...bytes].flatMap((byte) => reader.read(Uint8Array.of(byte)));
  t.same(frames, [
    { event: "hello", id: null, data: '{"latest":7}' },
    { event: "run.updated", id: 8, data: '{"name":"ä"}' },
  ]);
});
