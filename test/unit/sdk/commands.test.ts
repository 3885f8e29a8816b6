import t from "tap";
import { CommandError, exec, flow, sh } from "#sdk/index";
import { runFlow } from "#sdk/testing/index";
import { listProcesses } from "#system/run-processes";

/** A process that has ended and was not waited for does not live. */
async function lives(pid: unknown): Promise<boolean> {
  return (await listProcesses()).some((one) => one.pid === Number(pid));
}

async function failureOf(call: Promise<unknown>): Promise<CommandError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof CommandError) return error;
    throw error;
  }
  throw new Error("the command succeeded");
}

t.test("the lines of a command are log lines of the run, and its outputs are returned", async (t) => {
  const recording = await runFlow(
    flow("prints", async () => await exec("sh", ["-c", "echo out; printf 'no end'; echo bad >&2; exit 0"])),
  );
  t.same(recording.result, { code: 0, stdout: "out\nno end", stderr: "bad\n", stdoutBytes: 10, stderrBytes: 4 });
  const lines = recording.logs.map(({ logger, level, message }) => `${logger} ${level} ${message}`).sort();
  t.same(lines, ["millrace.stderr 30 bad", "millrace.stdout 20 no end", "millrace.stdout 20 out"]);
});

t.test("with log false, and for flows without logPrints, output is only returned", async (t) => {
  const quiet = await runFlow(flow("quiet", async () => (await exec("echo", ["secret"], { log: false })).stdout));
  t.same([quiet.result, quiet.logs], ["secret\n", []]);
  const flowQuiet = await runFlow(flow("flow-quiet", { logPrints: false }, async () => (await sh`echo shown`).stdout));
  t.same([flowQuiet.result, flowQuiet.logs], ["shown\n", []]);
});

t.test("the last 64 kB are returned, from the begin of a character", async (t) => {
  const { stdout, stdoutBytes } = await exec("node", ["-e", "process.stdout.write('x'.repeat(100) + '€'.repeat(30000))"], {
    log: false,
  });
  t.equal(stdoutBytes, 90_100);
  t.equal(stdout, "€".repeat(Math.floor(65_536 / 3)));
});

t.test("cwd, env and input reach the command, and an undefined variable is removed", async (t) => {
  process.env["MILLRACE_TEST_GONE"] = "there";
  const options = { cwd: "/", env: { GIVEN: "a b", MILLRACE_TEST_GONE: undefined }, input: "typed", log: false };
  const { stdout } = await sh(options)`pwd; echo "$GIVEN $MILLRACE_TEST_GONE"; cat; echo ${"x  y"}`;
  t.equal(stdout, "/\na b \ntypedx  y\n");
  delete process.env["MILLRACE_TEST_GONE"];
});

t.test("an exit code that is not ok fails with the last lines of the standard error", async (t) => {
  const error = await failureOf(sh({ log: false })`for i in $(seq 1 20); do echo line $i >&2; done; echo result; exit 3`);
  t.match(error, { name: "CommandError", code: 3, signal: null, timedOut: false, stdout: "result\n" });
  t.match(error.message, /^`for i in .*` ended with code 3:\nline 11\n(line \d+\n)+line 20$/);
  t.equal((await exec("sh", ["-c", "exit 3"], { ok: [0, 3] })).code, 3);
  t.equal((await sh({ ok: "any" })`exit 9`).code, 9);
  await t.rejects(exec("true", [], { ok: 256 }), RangeError);
});

t.test("what cannot be started, and what a signal ends, says so", async (t) => {
  t.match(
    (await failureOf(exec("no-such-program", ["a b"]))).message,
    "`no-such-program 'a b'` could not be started: there is no program no-such-program",
  );
  t.match((await failureOf(exec("ls", [], { cwd: "/nowhere" }))).message, "the directory /nowhere does not exist");
  t.match(await failureOf(sh`kill -KILL $$`), { message: "was ended by SIGKILL", signal: "SIGKILL", code: null });
  // @ts-expect-error a missing argument
  await t.rejects(exec("ls", [undefined]), /must be a text or a number, not undefined/);
});

t.test("a time limit ends the command with all processes below it", async (t) => {
  const error = await failureOf(sh({ timeout: 0.5, log: false })`sleep 300 & echo $!; wait`);
  t.match(error, { timedOut: true });
  t.match(error.message, /timed out after 0\.5 s/);
  t.notOk(await lives(error.stdout));
});

t.test("a cancel ends the command, and the call rejects with the reason", async (t) => {
  const seen: unknown[] = [];
  const cancel = new AbortController();
  const waits = flow("waits", async () => {
    const running = sh`sleep 300 & echo $!; wait`;
    cancel.abort();
    await running.catch((error: Error) => seen.push(error.name));
  });
  const recording = await runFlow(waits, {}, { signal: cancel.signal });
  t.equal(recording.state.type, "Cancelled");
  t.same(seen, ["Cancelled"]);
});

t.test("what a command leaves behind in its group may be used by the run, and ends with it", async (t) => {
  const recording = await runFlow(
    flow("leaves", async () => {
      const { stdout } = await sh`sleep 300 & echo $!`;
      t.ok(await lives(stdout), "it lives while the run does");
      return stdout;
    }),
  );
  t.equal(recording.state.type, "Completed");
  t.notOk(await lives(recording.result));
  t.match(recording.logs.at(-1)?.message, /processes of commands that had not ended are ended with the run: sleep \(\d+\)/);
});
