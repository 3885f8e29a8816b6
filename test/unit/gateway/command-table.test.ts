/** The table of outstanding commands behaves like a map of ascending keys, whatever ids have stayed. */
import t from "tap";
import { CommandTable } from "#gateway/commands/command-table";
import { Random } from "../../sim/random.ts";

interface Named {
  id: number;
}

t.test("it agrees with a map over random additions and removals, of which some stay for long", (t) => {
  const random = new Random(7);
  const table = new CommandTable<Named>();
  const map = new Map<number, Named>();
  let next = 2 ** 32 - 3_000;
  for (let step = 0; step < 30_000; step += 1) {
    if (random.chance(0.55)) {
      const command = { id: table.freeId(next) };
      if (command.id < next) t.fail("ids ascend");
      next = command.id + 1;
      table.add(command);
      map.set(command.id, command);
    } else {
      // Mostly the newest commands end; those that are left are like long-polls.
      const ids = [...map.keys()].slice(-20);
      const id = ids[random.below(ids.length)] ?? next;
      table.delete(id);
      map.delete(id);
      if (table.get(id) !== undefined) t.fail("it is removed");
    }
  }
  t.ok(map.size > 1_024, "it has grown");
  t.equal(table.size, map.size);
  t.strictSame(table.all(), [...map.values()]);
  for (const [id, command] of map) if (table.get(id) !== command) t.fail(`${id} is found`);
  t.equal(table.get(next), undefined);
  t.end();
});

t.test("a position that is taken is passed over, and another id at that position is not found", (t) => {
  const table = new CommandTable<Named>();
  table.add({ id: 5 });
  t.equal(table.freeId(5 + 1_024), 6 + 1_024);
  t.equal(table.get(5 + 1_024), undefined);
  table.delete(5 + 1_024);
  t.equal(table.size, 1, "the removal of an unknown id changes nothing");
  t.end();
});

t.test("commands of another table are taken as they are", (t) => {
  const table = new CommandTable<Named>();
  for (const id of [5, 5 + 1_024, 5 + 2_048]) table.add({ id });
  t.same(
    table.all().map(({ id }) => id),
    [5, 5 + 1_024, 5 + 2_048],
  );
  table.clear();
  t.equal(table.size, 0);
  t.equal(table.get(5), undefined);
  t.end();
});
