import t from "tap";
import { MemoryGrowth } from "#sdk/engine/memory-growth";

const MB = 1_000_000;

/** A growth that is looked at after one collection more each time. */
function looks(limitMb: number) {
  const growth = new MemoryGrowth<object>(limitMb);
  let collections = 0;
  const look = (mb: number, runs: object[] = [], ended = true): string | null => {
    collections += 1;
    return growth.look({ collections, bytes: mb * MB }, new Set(runs), ended);
  };
  return { growth, look };
}

t.test("memory that stays after the runs have ended that executed when it was seen is growth", async (t) => {
  const { look } = looks(100);
  const [a, b, c] = [{}, {}, {}];
  t.equal(look(500, [a], false), null, "before the first run has ended nothing is compared");
  t.equal(look(40, [a]), null);
  t.equal(look(139, [a]), null);
  t.equal(look(141, [a, b]), null, "the runs may need it");
  t.equal(look(150, [b, c]), null);
  t.match(look(160, [c]), "its code holds 160 MB after a garbage collection, and held 40 MB after its first runs");
});

t.test("memory that runs give back is no growth, however much it is", async (t) => {
  const { look } = looks(100);
  look(40);
  for (let n = 0; n < 20; n += 1) {
    const run = {};
    t.equal(look(900, [run]), null);
    t.equal(look(1_000, [run]), null);
    t.equal(look(41, [run]), null);
  }
});

t.test("one collection is looked at once, a new thread begins again, and 0 is no limit", async (t) => {
  const growth = new MemoryGrowth<object>(10);
  growth.look({ collections: 1, bytes: MB }, new Set(), true);
  growth.look({ collections: 2, bytes: 90 * MB }, new Set(), true);
  t.equal(growth.look({ collections: 2, bytes: 90 * MB }, new Set(), true), null);
  growth.reset();
  t.equal(growth.look({ collections: 3, bytes: 90 * MB }, new Set(), true), null);
  const { look } = looks(0);
  look(1);
  for (let n = 0; n < 5; n += 1) t.equal(look(1_000_000), null);
});
