import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import t from "tap";

const SCRIPT = fileURLToPath(new URL("../support/fires-digest.ts", import.meta.url));

async function firesUnder(zone: string): Promise<string> {
  const env = { ...process.env, TZ: zone };
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=millrace-src", SCRIPT], {
    env,
    maxBuffer: 2 ** 28,
  });
  return stdout;
}

t.test("the zone of the process changes no fire, byte for byte", async (t) => {
  const zones = ["UTC", "America/Los_Angeles", "Asia/Kolkata", "Australia/Lord_Howe"];
  const [expected = "", ...others] = await Promise.all(zones.map(firesUnder));
  t.ok(expected.length > 1_000_000);
  for (const [index, fires] of others.entries()) t.ok(fires === expected, String(zones[index + 1]));
});
