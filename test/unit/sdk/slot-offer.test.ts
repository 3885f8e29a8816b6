import t from "tap";
import { MEASURE_MS, SlotOffer } from "#sdk/engine/slot-offer";

/** An offer, and a window of it in which at most `held` runs were held and `ended` ended. */
function setUp(most: number) {
  const offer = new SlotOffer(most);
  const window = (utilization: number, held: number, ended = 0, ms = MEASURE_MS) => {
    offer.holds(held);
    for (let n = 0; n < ended; n += 1) offer.ended(ms);
    offer.measured(utilization, ms, 0);
    return offer.offered;
  };
  return { offer, window };
}

t.test("the offer begins with one run, and doubles after a window in which the engine was full and idle", async (t) => {
  const { offer, window } = setUp(5);
  t.equal(offer.free(0), 1);
  t.equal(window(0, 0), 1, "not while fewer runs are held than offered");
  t.same(
    [1, 2, 4, 5, 5].map((held) => window(0.1, held)),
    [2, 4, 5, 5, 5],
  );
  t.equal(offer.free(5), 0);
});

t.test("runs that are held for several windows fill each of them", async (t) => {
  const offer = new SlotOffer(8);
  offer.holds(1);
  offer.measured(0, MEASURE_MS, 1);
  t.equal(offer.offered, 2);
  offer.holds(2);
  offer.measured(0.8, MEASURE_MS, 2);
  offer.measured(0, MEASURE_MS, 2);
  t.equal(offer.offered, 4, "no run was given within the last window");
});

t.test("a thread that is busy all the time halves the offer, one that is mostly busy leaves it", async (t) => {
  const { offer, window } = setUp(8);
  for (const held of [1, 2, 4]) window(0, held);
  t.equal(window(0.8, 8), 8);
  t.equal(window(1, 8), 4);
  t.equal(offer.free(8), 0, "more are held than offered now");
  for (let windows = 0; windows < 4; windows += 1) window(1, 4);
  t.equal(offer.offered, 1);
  window(0, 1);
  offer.reset(0);
  t.equal(offer.offered, 1);
});

t.test("a busy thread keeps as many runs in advance as end within 50 ms", async (t) => {
  const { window } = setUp(64);
  for (const held of [1, 2, 4, 8, 16, 32]) window(0, held);
  t.equal(window(1, 64, 400), 64, "100 end in 50 ms");
  t.equal(window(1, 64, 200), 50);
  t.equal(window(1, 50, 4), 25, "the offer is halved at most");
});

t.test("a window may end early once two runs have ended for each that is offered", async (t) => {
  const { offer, window } = setUp(8);
  window(0, 1);
  t.same(
    [1, 2, 3, 4].map(() => offer.ended(30)),
    [false, false, false, true],
  );
  t.equal(offer.ended(10), false, "a very short window shows little");
});

t.test("runs that end soon get no more than 64 slots, runs that wait get all", async (t) => {
  const short = setUp(256);
  const long = setUp(256);
  for (const held of [1, 2, 4, 8, 16, 32, 64, 128]) {
    short.window(0.1, held, 4 * held);
    long.window(0.1, held, held);
  }
  t.equal(short.offer.offered, 64);
  t.equal(long.offer.offered, 256);
});

t.test("runs that went back leave the offer at what is held; an idle window makes room for one more", async (t) => {
  const { offer, window } = setUp(64);
  for (const held of [1, 2, 4, 8, 16]) window(0, held);
  offer.handedBack(10);
  t.equal(offer.free(10), 0);
  for (let windows = 0; windows < 4; windows += 1) window(1, 10);
  t.equal(offer.offered, 1);
  offer.holds(10);
  window(0, 10);
  t.equal(offer.free(10), 1);
});
