/** A sample of `npm run test:hardening`: no request delays others for seconds, ends the process or is answered 500. */
import t from "tap";
import { seedRecords, startHardenedServer } from "./hardened-server.ts";
import { type LargeRequest, largeRequests } from "./large-requests.ts";
import { measureStalls } from "./stall-fuzz.ts";
import { StallProbe } from "./stall-probe.ts";

/** Ten times what a request may take; the margin is for other load on the machine. */
const HELD_MS_MAX = 2_500;
/** A prime, so that the sample contains every place, every filling and every size. */
const EACH = 89;

t.test("no request of the largest size holds up the others", async (t) => {
  const server = await startHardenedServer();
  t.teardown(() => server.stop());
  const known = await seedRecords(server.url);
  const probe = await StallProbe.start(`${server.url}/api/health`);
  t.teardown(() => probe.stop());
  const requests = sample(largeRequests(known));
  let sent = 0;
  for await (const { name, status, heldMs, machineMs } of measureStalls(server.url, requests, probe)) {
    sent += 1;
    t.ok(
      heldMs - machineMs < HELD_MS_MAX,
      `${name}: held for ${Math.round(heldMs)} ms, the machine for ${Math.round(machineMs)} ms`,
    );
    t.not(status, 500, name);
    if (server.ended() !== null) throw new Error(`the server ended (${server.ended()}) at ${name}`);
  }
  t.ok(sent > 100, `${sent} requests were sent`);
});

function* sample(requests: Iterable<LargeRequest>): Generator<LargeRequest> {
  let index = 0;
  for (const request of requests) if (index++ % EACH === 0) yield request;
}
