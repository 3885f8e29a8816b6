/** Failed runs on the command line: with the cause, the traceback and each attempt. */
import { join } from "node:path";
import t, { type Test } from "tap";
import { Millrace, ResultLostError, ResultTooLargeError } from "#sdk/client/index";
import { millrace, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const FLOWS = `
import { existsSync, writeFileSync } from "node:fs";
import { child, flow, task } from "millrace";
const at = (n: number) => { if (n === 77) throw new Error("no 77", { cause: new TypeError("root of it") }); return n; };
const square = task("square", at);
export const mapped = flow("mapped", async () => { await Promise.all(Array.from({ length: 200 }, (_, n) => square(n))); });
const later = () => new Promise((resolve) => setTimeout(resolve, 60_000));
export const rejects = flow("rejects", { crashRetries: 0 }, async () => {
  setTimeout(() => void Promise.reject(new Error("lost", { cause: new RangeError("deep") })), 1);
  await later();
});
export const exits = flow("exits", { crashRetries: 0 }, () => process.exit(7));
export const killed = flow("killed", { crashRetries: 0 }, async () => { process.kill(process.pid, "SIGKILL"); await later(); });
export const once = flow("once", { crashRetries: 1 }, () => {
  const marker = new URL("marker", import.meta.url);
  if (existsSync(marker)) return "the second time";
  writeFileSync(marker, "");
  process.exit(8);
});
export const large = flow("large", () => "x".repeat(70_000));
export const bigint = flow("bigint", () => ({ n: 10n }));
export const caller = flow("caller", () => bigint.runAndWait());
export const parent = flow("parent", { durable: true }, () => child(bigint).run());
export const retried = flow("retried", { retries: 1, retryDelay: 0.1 }, () => {
  throw new AggregateError([new Error("first"), new RangeError("second")], "both failed");
});
`;

t.test("why runs failed is shown by run, runs show and runs logs", async (t) => {
  const root = testFolder(t, { flows: { "fails.ts": FLOWS, "millrace.toml": "[server]\ncrash_rerun_delay_secs = 0.1" } });
  const home = join(root, "home");
  const server = startCommand(["serve", join(root, "flows"), "--home", home, "--port", "0", "--no-open"]);
  t.teardown(() => server.child.kill("SIGKILL"));
  await server.printed("Stop it with");
  const client = new Millrace({ home });
  const run = async (flow: string) => {
    const { out } = await millrace("--home", home, "run", flow);
    const id = Number(/^Run (\d+)/.exec(out)?.[1]);
    const [show, logs] = await Promise.all(["show", "logs"].map((verb) => millrace("--home", home, "runs", verb, String(id))));
    return { id, out, show: show?.out ?? "", logs: logs?.out ?? "" };
  };

  const mapped = await run("mapped");
  for (const text of [mapped.out, mapped.show, mapped.logs]) {
    t.match(text, /^■ Failed.*Error: no 77\n {4}at .*fails\.ts:4.*\[cause\]: TypeError: root of it\n.*fails\.ts:4/ms);
  }
  t.match(mapped.out, /ERROR +square-77 +attempt 1 of 1 failed: Error: no 77\n/);
  t.match(mapped.show, /^square × 199 +● Completed +up to .*\nsquare-77 +■ Failed .*Error: no 77\n$/m);
  t.ok(mapped.show.split("\n").length < 40, "200 tasks are not 200 rows");

  const retried = await run("retried");
  for (const text of [retried.out, retried.logs]) {
    t.match(
      text,
      /WARNING +attempt 1 of 2 failed, the next begins in 0\.1 s: AggregateError: both failed\n.*RangeError: second/s,
    );
    t.match(text, /ERROR +attempt 2 of 2 failed: AggregateError: both failed\n■ Failed/);
  }
  t.match(retried.show, /^Attempts +2\n/m);
  t.match(retried.show, /\[errors\]: \[\n +Error: first\n.* RangeError: second\n/s);

  const rejected = await run("rejects");
  for (const text of [rejected.out, rejected.show, rejected.logs]) {
    t.match(text, /crash limit reached: unhandled rejection: Error: lost\nError: lost\n.*\[cause\]: RangeError: deep/s);
  }
  t.match((await run("exits")).show, /crash limit reached: process\.exit\(7\) was called\n.*fails\.ts:\d+/s);
  t.match((await run("killed")).show, /crash limit reached: engine process was killed from outside \(SIGKILL\)/);

  const once = await millrace("--home", home, "run", "once");
  t.equal(once.code, 0, "the code of the rerun");
  t.match(
    once.out,
    /^Run (\d+) .*\n■ Crashed.*process\.exit\(8\).*It is run again at .*\nRun \d+ .*\n● Completed.*Result: "the second time"/s,
  );
  const crashed = await millrace("--home", home, "runs", "show", /^Run (\d+)/.exec(once.out)?.[1] ?? "");
  t.match(crashed.out, /^Run again +at /m);

  const large = await run("large");
  t.match(
    large.out,
    /WARNING +the result is not kept: it has 70002 bytes.*\nResult: not kept: 70,002 bytes, more than the 64,000/s,
  );
  t.match(large.show, /^Result +not kept: 70,002 bytes/m);
  const error = await client.waitFor(large.id).catch((thrown: unknown) => thrown);
  t.ok(error instanceof ResultTooLargeError);
  t.match(error, { name: "MillraceError", reason: "result-too-large", bytes: 70_002, run: { id: large.id } });

  await checkLostResults(t, client, run);

  server.child.kill("SIGTERM");
  const { errors } = await server.ended;
  t.notMatch(errors, "was refused");
});

/** A result that is no JSON is an error for whoever asks for it. */
async function checkLostResults(t: Test, client: Millrace, run: (flow: string) => Promise<{ id: number; out: string }>) {
  const lost = await run("bigint");
  t.match(lost.out, /\nResult: not kept: it is not JSON: .*BigInt/);
  const notJson = await client.waitFor(lost.id).catch((thrown: unknown) => thrown);
  t.ok(notJson instanceof ResultLostError);
  t.match(notJson, { reason: "result-not-json", message: /is not kept: it is not JSON/, run: { id: lost.id } });
  for (const name of ["caller", "parent"])
    t.match((await run(name)).out, /■ Failed.*the result of run \d+.* is not kept: it is not JSON/s, name);
}
