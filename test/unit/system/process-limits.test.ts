/** How a server uses the limits that its process was started with. */
import t from "tap";
import { AddressSpaceError, checkAddressSpace } from "#server/address-space";
import { planOpenFiles } from "#server/open-files";
import { parseLimits, processLimits } from "#system/process-limits";

t.test("the limits of the process are read", async (t) => {
  const text = [
    "Limit                     Soft Limit           Hard Limit           Units     ",
    "Max open files            256                  4096                 files     ",
    "Max address space         unlimited            unlimited            bytes     ",
  ].join("\n");
  t.same(parseLimits(text), { openFiles: 256, addressSpaceBytes: Number.POSITIVE_INFINITY });
  t.same(parseLimits(text.replace("unlimited", "1073741824")).addressSpaceBytes, 1_073_741_824);
  t.ok(processLimits().openFiles > 0);
});

t.test("connections never get the files that the store, engines and outgoing requests need", async (t) => {
  for (const max of [64, 256, 1_024, 20_000, 1_048_576]) {
    const { connections, outgoing } = planOpenFiles(max);
    t.ok(max - connections >= Math.min(128, max / 2), `${max}: ${connections} connections`);
    t.ok(outgoing >= 1 && outgoing <= (max - connections) / 2, `${max}: ${outgoing} outgoing requests`);
  }
  t.match(planOpenFiles(256), { connections: 128, warning: /limited to 256 \(ulimit -n\): connections beyond 128/ });
  t.match(planOpenFiles(20_000), { connections: 18_976, outgoing: 256, warning: null });
  t.match(planOpenFiles(Number.POSITIVE_INFINITY), { connections: Number.POSITIVE_INFINITY, warning: null });
});

t.test("a server does not start where its threads could not be made", async (t) => {
  const message = "addresses are limited to 976 MiB (ulimit -v), too little for the threads of a server";
  t.throws(() => checkAddressSpace(1_024_000_000), new AddressSpaceError(message));
  t.doesNotThrow(() => checkAddressSpace(4 * 1024 ** 3));
  t.doesNotThrow(() => checkAddressSpace(Number.POSITIVE_INFINITY));
});
