/** The short form of overload.ts: bounds are ten times the promised values, as a margin for other load on the machine. */
import t from "tap";
import { startHardenedServer } from "./hardened-server.ts";
import { measureOverload, SCENARIOS } from "./overload.ts";

const FOR_MS = 4_000;
const PROMISED = { healthMs: 250, recoveredMs: 2_000, acceptedP99Ms: 2_000, residentMb: 150 };

for (const name of ["large bodies, pauses", "small bodies"]) {
  t.test(`ten times of what can be done is mostly refused, and the rest answered soon: ${name}`, async (t) => {
    const scenario = SCENARIOS[name];
    if (scenario === undefined) throw new Error(`there is no scenario ${name}`);
    const server = await startHardenedServer();
    t.teardown(() => server.stop());
    const figures = await measureOverload(server, { ...scenario, forMs: FOR_MS }, 0);
    t.comment(JSON.stringify(figures));
    t.equal(server.ended(), null);
    t.ok(figures.accepted > 0);
    t.same(
      Object.keys(figures.others).filter((status) => status !== "503"),
      [],
      "nothing but 503",
    );
    t.equal(figures.withoutRetryAfter, 0);
    t.ok(figures.healthMs - figures.machineMs < PROMISED.healthMs * 10, `health: ${figures.healthMs} ms`);
    t.ok(figures.acceptedP99Ms < PROMISED.acceptedP99Ms * 10, `accepted: ${figures.acceptedP99Ms} ms`);
    t.ok(figures.recoveredMs < PROMISED.recoveredMs * 10, `recovered: ${figures.recoveredMs} ms`);
    const grownMb = figures.residentPeakMb - figures.residentBeforeMb;
    t.ok(grownMb < PROMISED.residentMb * 10, `grown by ${grownMb} MB`);
  });
}
