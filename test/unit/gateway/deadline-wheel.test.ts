import t from "tap";
import { DeadlineWheel, SLOT_US, type WheelEntry } from "#gateway/commands/deadline-wheel";
import { ManualTime } from "../../support/manual-time.ts";

interface Entry extends WheelEntry {
  dueUs: number;
}

function entry(dueUs: number): Entry {
  return { dueUs, slot: -1, previous: null, next: null };
}

function setup() {
  const time = new ManualTime();
  const fired: { entry: Entry; atUs: number }[] = [];
  const wheel = new DeadlineWheel<Entry>(time.now, time.alarm(), (entry) => fired.push({ entry, atUs: time.nowUs }));
  return { time, fired, wheel };
}

t.test("every deadline fires once, never early and at most one slot late", async (t) => {
  const { time, fired, wheel } = setup();
  const entries: Entry[] = [];
  for (let index = 0; index < 5000; index += 1) {
    const one = entry(time.nowUs + ((index * 7919) % 35_000) * 1000);
    entries.push(one);
    wheel.add(one, one.dueUs);
  }
  t.ok(time.armed <= 1, "one alarm serves them all");
  time.pass(36_000_000);
  t.equal(fired.length, entries.length);
  t.equal(new Set(fired.map(({ entry }) => entry)).size, entries.length);
  for (const { entry, atUs } of fired) {
    if (atUs < entry.dueUs || atUs > entry.dueUs + 2 * SLOT_US) t.fail(`due ${entry.dueUs}, fired ${atUs}`);
  }
  t.equal(wheel.size, 0);
  t.equal(time.armed, 0, "an empty wheel sets no alarm");
});

t.test("an entry added long after the first has the length of the whole wheel", async (t) => {
  for (const secondAtMs of [25_000, 29_990, 30_000]) {
    const { time, fired, wheel } = setup();
    const first = entry(time.nowUs + 30_000_000);
    wheel.add(first, first.dueUs);
    time.pass(secondAtMs * 1000);
    const second = entry(time.nowUs + 35_000_000);
    wheel.add(second, second.dueUs);
    time.pass(70_000_000);
    t.same(
      fired.map(({ entry }) => entry),
      [first, second],
    );
    for (const { entry, atUs } of fired) t.ok(atUs >= entry.dueUs && atUs <= entry.dueUs + 2 * SLOT_US, `due ${entry.dueUs}`);
  }
});

t.test("a slow answer to one deadline that adds a long one leaves the others where they are", (t) => {
  const time = new ManualTime();
  const fired: Entry[] = [];
  const [slow, next, added] = [entry(time.nowUs + 20_000), entry(time.nowUs + 60_000), entry(time.nowUs + 40_000_000)];
  const wheel: DeadlineWheel<Entry> = new DeadlineWheel(time.now, time.alarm(), (one) => {
    fired.push(one);
    if (one !== slow) return;
    time.nowUs += 200_000;
    wheel.add(added, added.dueUs);
  });
  wheel.add(slow, slow.dueUs);
  wheel.add(next, next.dueUs);
  time.pass(1_000_000);
  t.same(fired, [slow, next]);
  time.pass(45_000_000);
  t.same(fired, [slow, next, added]);
  t.end();
});

t.test("removed entries do not fire, wherever they hang in a slot", async (t) => {
  const { time, fired, wheel } = setup();
  const all = [1, 2, 3, 4, 5].map(() => entry(time.nowUs + 100_000));
  for (const one of all) wheel.add(one, one.dueUs);
  const [first, second, third, fourth, fifth] = all as [Entry, Entry, Entry, Entry, Entry];
  wheel.remove(third);
  wheel.remove(first);
  wheel.remove(fifth);
  wheel.remove(fifth);
  time.pass(1_000_000);
  t.same(new Set(fired.map(({ entry }) => entry)), new Set([second, fourth]));
});

t.test("moving an entry replaces its deadline", async (t) => {
  const { time, fired, wheel } = setup();
  const one = entry(0);
  wheel.add(one, time.nowUs + 50_000);
  wheel.add(one, time.nowUs + 500_000);
  time.pass(400_000);
  t.equal(fired.length, 0);
  time.pass(200_000);
  t.equal(fired.length, 1);
});

t.test("an entry may be added again while it fires", async (t) => {
  const time = new ManualTime();
  let count = 0;
  const one = entry(0);
  const wheel = new DeadlineWheel<Entry>(time.now, time.alarm(), () => {
    count += 1;
    if (count < 3) wheel.add(one, time.nowUs);
  });
  wheel.add(one, time.nowUs);
  time.pass(1_000_000);
  t.equal(count, 3);
});

t.test("a sleep longer than the wheel misses nothing", async (t) => {
  const { time, fired, wheel } = setup();
  for (let index = 0; index < 100; index += 1) wheel.add(entry(0), time.nowUs + index * 300_000);
  time.nowUs += 3_600_000_000;
  time.pass(1);
  t.equal(fired.length, 100);
});
