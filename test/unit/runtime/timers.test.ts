import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import t from "tap";
import { Timers, wallOffsetUs } from "#runtime/timers";

const HOUR_US = 3_600_000_000;
const DAY_US = 24 * HOUR_US;

/** A wall clock that can step, and an alarm based on monotonic time. */
class Wall {
  nowUs = 10 * DAY_US;
  elapsedUs = 0;
  #wake: { atUs: number; wake: () => void } | null = null;
  readonly delaysUs: number[] = [];
  readonly fired: unknown[] = [];
  readonly timers = new Timers(
    { nowUs: () => this.nowUs, monotonicUs: () => this.elapsedUs },
    {
      set: (delayUs, wake) => {
        this.delaysUs.push(delayUs);
        this.#wake = { atUs: this.elapsedUs + delayUs, wake };
      },
      clear: () => {
        this.#wake = null;
      },
    },
    (_owner, message) => this.fired.push(message),
  );

  get armed(): boolean {
    return this.#wake !== null;
  }

  pass(us: number): void {
    const endUs = this.elapsedUs + us;
    while (this.#wake !== null && this.#wake.atUs <= endUs) {
      const { atUs, wake } = this.#wake;
      this.#wake = null;
      this.nowUs += atUs - this.elapsedUs;
      this.elapsedUs = atUs;
      wake();
    }
    this.nowUs += endUs - this.elapsedUs;
    this.elapsedUs = endUs;
  }
}

t.test("timers fire in due order, those of the same time in the order they were set", async (t) => {
  const wall = new Wall();
  for (const [key, inUs] of [
    ["c", 30],
    ["a", 10],
    ["b1", 20],
    ["b2", 20],
  ] as const) {
    wall.timers.set("x", key, wall.nowUs + inUs, key);
  }
  wall.pass(19);
  t.same(wall.fired, ["a"]);
  wall.pass(100);
  t.same(wall.fired, ["a", "b1", "b2", "c"]);
  t.equal(wall.timers.size, 0);
  t.notOk(wall.armed);
});

t.test("setting a key again replaces its timer, also to a later or an earlier time", async (t) => {
  const wall = new Wall();
  wall.timers.set("x", "k", wall.nowUs + 10, "first");
  wall.timers.set("x", "k", wall.nowUs + 50, "later");
  wall.timers.set("y", "k", wall.nowUs + 40, "another owner");
  wall.pass(30);
  t.same(wall.fired, []);
  wall.timers.set("x", "k", wall.nowUs + 1, "earlier");
  wall.pass(100);
  t.same(wall.fired, ["earlier", "another owner"]);
});

t.test("cancelled timers do not fire; the timers of an actor go with it", async (t) => {
  const wall = new Wall();
  wall.timers.set("x", "1", wall.nowUs + 10, "x1");
  wall.timers.set("x", "2", wall.nowUs + 20, "x2");
  wall.timers.set("y", "1", wall.nowUs + 15, "y1");
  wall.timers.cancel("x", "1");
  wall.timers.cancel("x", "unknown");
  t.equal(wall.timers.nextDueUs(), wall.nowUs + 15);
  wall.timers.cancelAll("x");
  wall.pass(100);
  t.same(wall.fired, ["y1"]);
});

t.test("a long delay is slept in steps of at most an hour and still exact", async (t) => {
  const wall = new Wall();
  wall.timers.set("x", "k", wall.nowUs + 30 * DAY_US, "month");
  wall.pass(30 * DAY_US - 1);
  t.same(wall.fired, []);
  wall.pass(1);
  t.same(wall.fired, ["month"]);
  t.ok(wall.delaysUs.every((us) => us <= HOUR_US));
});

t.test("a clock that steps forward: what is overdue fires within the hour; backward: after the time it had left", async (t) => {
  const forward = new Wall();
  forward.timers.set("x", "k", forward.nowUs + 5 * HOUR_US, "k");
  forward.pass(1);
  forward.nowUs += 6 * HOUR_US;
  forward.pass(HOUR_US);
  t.same(forward.fired, ["k"]);
  const back = new Wall();
  back.timers.set("x", "k", back.nowUs + 10, "k");
  back.nowUs -= 2 * HOUR_US;
  back.pass(9);
  t.same(back.fired, []);
  back.pass(1);
  t.same(back.fired, ["k"], "an interval of a moment does not last two hours");
});

t.test("a timer that is due already fires at the next look; one set while firing is not lost", async (t) => {
  const wall = new Wall();
  wall.timers.set("x", "past", wall.nowUs - 5, "past");
  wall.pass(0);
  t.same(wall.fired, ["past"]);
});

t.test("any set of timers fires in the order of a sorted list", async () => {
  const timer = fc.record({ key: fc.integer({ min: 0, max: 20 }), inUs: fc.integer({ min: 0, max: 50 }), cancel: fc.boolean() });
  fc.assert(
    fc.property(fc.array(timer, { maxLength: 60 }), (wanted) => {
      const wall = new Wall();
      const model = new Map<string, { dueUs: number; order: number }>();
      for (const [order, { key, inUs, cancel }] of wanted.entries()) {
        const name = String(key);
        if (cancel) {
          wall.timers.cancel("x", name);
          model.delete(name);
        } else {
          wall.timers.set("x", name, wall.nowUs + inUs, order);
          model.set(name, { dueUs: inUs, order });
        }
      }
      wall.pass(100);
      const expected = [...model.values()].sort((a, b) => a.dueUs - b.dueUs || a.order - b.order).map(({ order }) => order);
      if (JSON.stringify(wall.fired) !== JSON.stringify(expected)) throw new Error(`${wall.fired} is not ${expected}`);
    }),
  );
});

t.test("a timer that is set after a step ahead does not wait for the alarm of one that the step made overdue", async (t) => {
  const wall = new Wall();
  wall.timers.set("x", "in an hour", wall.nowUs + HOUR_US, "in an hour");
  wall.nowUs += 2 * HOUR_US;
  wall.timers.set("x", "soon", wall.nowUs + 10, "soon");
  wall.pass(10);
  t.same(wall.fired, ["in an hour", "soon"]);
});

t.test("a timer that is replaced or cancelled is kept no longer, however far ahead it was due", async (t) => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const wall = new Wall();
  const messages: WeakRef<object>[] = [];
  for (let index = 0; index < 3_000; index += 1) {
    const message = { index };
    messages.push(new WeakRef(message));
    wall.timers.set("x", String(index % 3), wall.nowUs + DAY_US - index, message);
  }
  wall.timers.cancel("x", "0");
  // Within one turn of the event loop, the target of a WeakRef is kept alive.
  await setImmediate();
  collect();
  t.equal(messages.filter((message) => message.deref() !== undefined).length, 2);
  t.equal(wall.timers.size, 2);
});

t.test("timers of an interval go on whichever read of the clock is the first after it was set back", async (t) => {
  for (let stepAtRead = 1; stepAtRead <= 30; stepAtRead += 1) {
    let wakeUp: { atUs: number; wake: () => void } | null = null;
    let [elapsedUs, reads, waiting, fired] = [0, 0, 1, 0];
    const clock = {
      monotonicUs: () => elapsedUs,
      nowUs: () => {
        reads += 1;
        return elapsedUs + (reads < stepAtRead ? 100 * DAY_US : 0);
      },
    };
    const alarm = {
      set: (delayUs: number, wake: () => void) => {
        wakeUp = { atUs: elapsedUs + delayUs, wake };
      },
      clear: () => {
        wakeUp = null;
      },
    };
    const timers = new Timers(clock, alarm, () => {
      waiting += 1;
    });
    const handleTicks = () => {
      for (; waiting > 0; waiting -= 1) {
        fired += 1;
        const offsetUs = wallOffsetUs(clock);
        timers.set("x", "tick", clock.nowUs() + HOUR_US / 4, "tick", offsetUs);
      }
    };
    handleTicks();
    while (wakeUp !== null && (wakeUp as { atUs: number }).atUs <= 4 * HOUR_US) {
      const { atUs, wake } = wakeUp as { atUs: number; wake: () => void };
      wakeUp = null;
      elapsedUs = atUs;
      wake();
      handleTicks();
    }
    t.ok(reads > 30 && fired >= 17 && fired <= 18, `step at read ${stepAtRead}: fired ${fired} times`);
  }
});
