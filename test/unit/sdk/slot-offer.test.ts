import t from "tap";
import { SlotOffer } from "#sdk/engine/slot-offer";

t.test("the offer begins with one run, and doubles after a window in which the engine was full and idle", async (t) => {
  const offer = new SlotOffer(5);
  t.equal(offer.free(0), 1);
  offer.measured(0);
  t.equal(offer.free(0), 1, "not while fewer runs are held than offered");
  const offered = [1, 2, 4, 5, 5].map((held) => {
    t.equal(offer.free(held), 0);
    offer.measured(0.1);
    return offer.offered;
  });
  t.same(offered, [2, 4, 5, 5, 5]);
});

t.test("a thread that is busy all the time halves the offer, one that is mostly busy leaves it", async (t) => {
  const offer = new SlotOffer(8);
  for (const held of [1, 2, 4]) {
    offer.free(held);
    offer.measured(0);
  }
  offer.free(8);
  offer.measured(0.8);
  t.equal(offer.offered, 8);
  offer.measured(1);
  t.equal(offer.offered, 4);
  t.equal(offer.free(8), 0, "more are held than offered now");
  for (let windows = 0; windows < 4; windows += 1) offer.measured(1);
  t.equal(offer.offered, 1);
  offer.free(1);
  offer.measured(0);
  offer.reset();
  t.equal(offer.offered, 1);
});
