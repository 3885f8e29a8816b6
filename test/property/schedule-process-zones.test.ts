import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import t from "tap";

const SCRIPT = fileURLToPath(new URL("../support/fires-digest.ts", import.meta.url));

function firesUnder(zone: string): string {
  const env = { ...process.env, TZ: zone };
  return execFileSync(process.execPath, ["--conditions=millrace-src", SCRIPT], { env, encoding: "utf8", maxBuffer: 2 ** 28 });
}

t.test("the zone of the process changes no fire", async (t) => {
  const expected = firesUnder("UTC");
  t.ok(expected.length > 1_000_000);
  for (const zone of ["America/Los_Angeles", "Asia/Kolkata", "Australia/Lord_Howe"]) t.ok(firesUnder(zone) === expected, zone);
});
