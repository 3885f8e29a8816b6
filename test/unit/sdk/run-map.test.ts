/** The map of runs under way is read while it changes. */
import t from "tap";
import { RunMap } from "#sdk/engine/run-map";

t.test("it is a map", (t) => {
  const map = new RunMap<string>();
  for (const run of [3, 1, 2]) map.set(run, `run ${run}`);
  map.set(1, "again");
  t.same([...map.runs()], [3, 1, 2]);
  t.same([...map.values()], ["run 3", "again", "run 2"]);
  t.equal(map.get(1), "again");
  t.equal(map.get(4), undefined);
  map.delete(1);
  map.delete(4);
  t.notOk(map.has(1));
  t.equal(map.size, 2);
  map.clear();
  t.equal(map.size, 0);
  t.same([...map.values()], []);
  t.end();
});

t.test("runs that are removed while the values are read are left out", (t) => {
  const map = new RunMap<string>();
  for (const run of [1, 2, 3]) map.set(run, `run ${run}`);
  const read: string[] = [];
  for (const value of map.values()) {
    read.push(value);
    map.delete(2);
  }
  t.same(read, ["run 1", "run 3"]);
  const all: string[] = [];
  for (const value of map.values()) {
    all.push(value);
    map.clear();
  }
  t.same(all, ["run 1"]);
  t.end();
});
