/** The simulation's checker of deletion by age: which steps of the clock count. */
import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { putOperation } from "#storage/write/ops";
import { readOperations } from "../../sim/checkers/checker.ts";
import { RetentionChecker } from "../../sim/checkers/retention.ts";
import { SimulatedTime } from "../../sim/simulated-time.ts";

const DAY_US = 86_400_000_000;
const MINUTE_US = 60_000_000;

class Setup {
  readonly time = new SimulatedTime();
  readonly #checker = new RetentionChecker(this.time);

  constructor() {
    this.storeClock(null);
    this.time.advance(MINUTE_US);
  }

  /** The server stores the clocks, with the step that it has noticed. */
  storeClock(step: number | null): void {
    const wall_time = this.time.nowUs();
    const boot_time = this.time.bootUs();
    const ahead = wall_time - boot_time;
    const stepped_at = step === null ? null : wall_time;
    const ops: Primitive[] = [];
    const row = { boot: "here", boot_time, wall_time, ahead, trusted_ahead: ahead, step, stepped_at, waited: 0 };
    putOperation(ops, "put_clock", { id: 1, ...row });
    this.#check(ops);
  }

  deleteByAge(): void {
    const ops: Primitive[] = [];
    putOperation(ops, "delete_idempotency", { created_at: 0 });
    this.#check(ops);
  }

  #check(ops: readonly Primitive[]): void {
    for (const operation of readOperations(ops)) this.#checker.operation(operation);
  }
}

t.test("a deletion within a day after a step is found, whether or not the server noticed the step", async (t) => {
  for (const isNoticed of [true, false]) {
    const setup = new Setup();
    setup.deleteByAge();
    setup.time.stepWallClock(DAY_US);
    setup.time.advance(1);
    if (isNoticed) setup.storeClock(DAY_US);
    setup.time.advance(DAY_US - MINUTE_US);
    t.throws(() => setup.deleteByAge(), /a wrong clock deletes nothing/);
    setup.time.advance(MINUTE_US);
    setup.deleteByAge();
  }
});

t.test("the day of a step counts on when the clock is set and reversed before the server looks", async (t) => {
  const setup = new Setup();
  setup.time.stepWallClock(DAY_US);
  setup.time.advance(1);
  setup.storeClock(DAY_US);
  setup.time.advance(DAY_US / 2);
  setup.time.stepWallClock(DAY_US);
  setup.time.advance(MINUTE_US);
  t.throws(() => setup.deleteByAge(), /60 s after/, "the newer step, while it lasts");
  setup.time.stepWallClock(-DAY_US);
  setup.time.advance(MINUTE_US);
  t.throws(() => setup.deleteByAge(), /43320 s after/, "the step that the server waits for");
  setup.time.advance(DAY_US / 2);
  setup.deleteByAge();
});
