/** The user-code process ends with its server, even when user code blocks its event loop. */
import { readFileSync } from "node:fs";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { CALLS, newPlace, until } from "../support/called-code.ts";
import { serve } from "../support/command-line.ts";

const CODE = `
  import { rule } from "millrace";
  import { note } from "${CALLS}";
  export const busy = rule("busy", { when: { events: ["kit.busy"], project: null }, once: "never" }, () => {
    note("pid " + process.pid);
    for (;;);
  });
`;

/** False once the process is gone or a zombie. */
function runs(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return false;
  }
}

t.test("a busy loop of a rule does not outlive a server that is killed", { timeout: 120_000 }, async (t) => {
  const place = newPlace(t, CODE);
  const { child } = await serve(t, place.dir, place.home);
  await new Millrace({ home: place.home }).events.emit({ name: "kit.busy", payload: {} });
  const [noted] = await until(() => (place.calls().length > 0 ? place.calls() : undefined));
  const pid = Number(noted?.replace("pid ", ""));
  t.ok(runs(pid), "it is in its loop");
  child.kill("SIGKILL");
  await until(() => (runs(pid) ? undefined : true));
});
