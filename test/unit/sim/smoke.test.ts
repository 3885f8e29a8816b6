/** The simulation runs, is reproducible for a seed, and finds a deliberate bug. `npm run sim` runs it at length. */
import t from "tap";
import { hunt } from "../../sim/hunt.ts";
import { runSeed } from "../../sim/simulation.ts";

const MESSAGES = 500;

t.test("three seeds hold", async (t) => {
  for (const seed of [1, 2, 3]) {
    const { violation, messages } = await runSeed({ seed, messages: MESSAGES, mutation: null, echo: null });
    t.equal(violation, null, `seed ${seed}: ${violation?.message}`);
    t.ok(messages >= MESSAGES);
  }
});

t.test("a seed gives the same steps every time", async (t) => {
  const first = await runSeed({ seed: 4, messages: MESSAGES, mutation: null, echo: null });
  const second = await runSeed({ seed: 4, messages: MESSAGES, mutation: null, echo: null });
  t.equal(first.digest, second.digest);
});

t.test("answers that leave before their commit are found", async (t) => {
  const found = await hunt("answers leave before the commit", { seed: 1, messages: MESSAGES, seeds: 3 });
  t.equal(found?.violation?.rule, "nothing before its commit");
});

t.test("a thread that ends while the server starts ends the process, and the next one goes on", async (t) => {
  for (let at = 0; at < 10; at += 1) {
    const faults = [{ fault: "core thread ends", at }] as const;
    const { violation, messages } = await runSeed({ seed: 7, messages: 60, mutation: null, faults, echo: null });
    t.equal(violation, null, `at ${at}: ${violation?.message}`);
    t.ok(messages >= 60);
  }
});
