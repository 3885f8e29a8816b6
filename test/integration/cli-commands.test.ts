import { existsSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { RunTiming } from "#sdk/client/index";
import { millrace, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const FLOWS = `
import { flow, log, task, Type } from "millrace";
const add = task("add", (a: number, b: number) => { log.info("adding", a, b); return a + b; });
export const sum = flow("sum", { parameters: Type.Object({ a: Type.Integer(), b: Type.Integer({ default: 1 }) }) },
  async ({ a, b }) => await add(a, b));
export const broken = flow("broken", async () => { throw new Error("no such table"); });
`;

function project(test: Test): { home: string; dir: string; file: string } {
  const root = testFolder(test, {
    flows: { "maths.ts": FLOWS, "bad.ts": 'import "millrace";\nthrow new Error("cannot be loaded");\n' },
  });
  return { home: join(root, "home"), dir: join(root, "flows"), file: join(root, "flows", "maths.ts") };
}

async function checkLogSearch(t: Test, home: string, run: number): Promise<void> {
  const found = ["logs", "--search", "ADDING 41", "--flow", "sum", "--home", home];
  t.match(await millrace(...found), { code: 0, out: new RegExp(`INFO +adding 41 1 +\\(flows/sum ${run}\\)\n`) });
  t.match(JSON.parse((await millrace(...found, "--json")).out), [{ run_id: run, flow_name: "sum", message: "adding 41 1" }]);
  t.same(JSON.parse((await millrace(...found, "--level", "ERROR", "--json")).out), []);
  t.same(JSON.parse((await millrace("logs", "--project", "none", "--home", home, "--json")).out), []);
  t.match(await millrace("logs", "--flow", "nothing", "--home", home), { code: 3, errors: /It has: broken, sum\./ });
}

async function checkTiming(t: Test, home: string, id: string): Promise<void> {
  const timing = JSON.parse((await millrace("runs", "timing", id, "--home", home, "--json")).out) as RunTiming;
  t.equal(timing.to, timing.moments.published);
  t.ok(timing.stages.some(({ stage }) => stage === "running"));
  t.equal(
    timing.stages.reduce((sum, { us }) => sum + us, 0),
    timing.total_us,
  );
  t.equal(timing.from + timing.total_us, timing.to);
  const explained = await millrace("runs", "explain", id, "--home", home, "--at", new Date(timing.from / 1_000).toISOString());
  t.match(explained, { code: 0, out: /Completed.*\n(?:It has waited for nothing|\d)/ });
  // A stage without length has no row.
  const { out } = await millrace("runs", "timing", id, "--home", home);
  t.match(out, /^STAGE .*\n(?:.* %\n)*running .* %\n(?:.* %\n)*\n/);
  t.equal(out.match(/ %$/gm)?.length, timing.stages.length);
}

t.test("serve, run flows against it, look at them, stop it", async (t) => {
  const { home, dir, file } = project(t);
  const server = startCommand(["serve", dir, "--home", home, "--port", "0", "--no-open"]);
  t.teardown(() => server.child.kill("SIGKILL"));
  await server.printed("Stop it with");
  const second = await millrace("serve", dir, "--home", home, "--port", "0", "--no-open");
  t.equal(second.code, 3);
  t.match(
    second.errors,
    /^millrace: another server \(pid \d+\) uses .*\. Stop that server, or choose another data directory with --home\.\n$/,
  );

  const done = await millrace("--home", home, "run", "sum", "-p", "a=41");
  t.equal(done.code, 0, done.errors);
  t.match(done.out, /^Run \d+ {2}\S+ {2}of flows\/sum\n/);
  t.match(done.out, /INFO {6}add-0 {2}adding 41 1\n/);
  t.match(done.out, /● Completed after .*, 1 task\nResult: 42\n$/);
  t.notMatch(done.out, "\u001b", "a pipe gets plain text");

  const failed = await millrace("run", `${file}:broken`, "--home", home, "-q");
  t.equal(failed.code, 1);
  t.equal(failed.out, "");
  t.match(failed.errors, /^millrace: run \d+ failed: Error: no such table\n$/);

  t.match(await millrace("run", "sum", "--home", home, "-p", "c=1"), { code: 3, errors: /^millrace: .*"c".*\n$/ });
  t.match(await millrace("run", "nothing", "--home", home), {
    code: 3,
    errors: /knows no flow "nothing"\. It has: broken, sum\./,
  });

  for (const list of ["runs", "schedules", "artifacts"]) {
    const unknown = await millrace(list, "ls", "--home", home, "--flow", "nothing");
    t.match(unknown, { code: 3, errors: /knows no flow "nothing"\. It has: broken, sum\./ }, list);
  }
  const [run] = JSON.parse((await millrace("runs", "ls", "--home", home, "--json", "--flow", "sum")).out);
  const large = await millrace("run", "sum", "--home", home, "-p", "a=9007199254740993", "--json");
  t.match(large.out, /"a": 9007199254740993\b/);
  const shown = await millrace("runs", "show", String(JSON.parse(large.out).id), "--home", home);
  t.match(shown.out, /^Parameters +\{"a":9007199254740993/m);
  const listed = await millrace("runs", "ls", "--home", home, "--json", "--state", "failed");
  t.match(JSON.parse(listed.out), [{ flow_name: "broken", state: { type: "Failed" } }]);
  t.match(await millrace("artifacts", "ls", "--home", home, "--kind", "bogus"), { code: 3, errors: /Known: markdown, table/ });
  const none = await millrace("runs", "cancel", "--flow", "sum", "--home", home);
  t.match(none, { code: 0, out: "No run that has not ended matches.\n" });
  t.match((await millrace("runs", "show", String(run.id), "--home", home)).out, /add-0 {2}● Completed/);
  await checkTiming(t, home, String(run.id));
  t.match(await millrace("runs", "logs", String(run.id), "--home", home, "-f"), { code: 0, out: /adding 41 1\n/ });
  await checkLogSearch(t, home, run.id);
  t.match((await millrace("flows", "ls", "--home", home)).out, /flows\/sum +maths\.ts +●● +served\n/);
  t.match(
    (await millrace("flows", "show", "sum", "--home", home)).out,
    /^Flow \d+ {2}flows\/sum\n.*Parameters {2}a {2}b=1\n.*● Completed/s,
  );
  t.match(await millrace("flows", "show", "nothing", "--home", home), { code: 3, errors: /It has: broken, sum\./ });
  t.match(await millrace("flows", "rm", "sum", "--home", home), { code: 3, errors: /flows\/sum is served/ });
  const detached = await millrace("run", "sum", "--home", home, "-p", "a=1", "--detach");
  t.match(detached, { code: 0, out: /^Run \d+ {2}\S+ {2}of flows\/sum\n$/ });
  t.match(await millrace("runs", "show", "999999", "--home", home), { code: 3, errors: /^millrace: .*not found\n$/ });

  server.child.kill("SIGTERM");
  const { code, out, errors } = await server.ended;
  t.equal(code, 0, errors);
  t.match(out, /sum {5}flows {4}maths\.ts/);
  t.match(out, /1 file could not be used:\n {2}■ bad\.ts {2}.*cannot be loaded/);
  t.notOk(existsSync(join(home, "server.json")));
});

t.test("without a server one is started for the run and ended with it", async (t) => {
  const { home, file } = project(t);
  const { code, out, errors } = await millrace("run", `${file}:sum`, "-p", "a=1", "-p", "b=2", "--home", home, "--json");
  t.equal(code, 0, errors);
  t.match(JSON.parse(out), { flow_name: "sum", project: "flows", state: { type: "Completed" }, parameters: { a: 1, b: 2 } });
  t.notOk(existsSync(join(home, "server.json")));
  t.match(await millrace("run", "sum", "--home", home), {
    code: 3,
    errors: /no server is running that would know the flow "sum"\. Name its file/,
  });
});

t.test("wrong usage and a missing server are one line and exit code 3", async (t) => {
  const { home, dir } = project(t);
  t.match(await millrace("runs", "ls", "--home", home), {
    code: 3,
    errors: `millrace: no server is running for ${home}. Start a server with \`millrace serve\`, or name one with --url or --home.\n`,
  });
  t.match(await millrace("bogus"), { code: 3, errors: /^millrace: unknown command 'bogus'/ });
  t.match(await millrace("serve", join(dir, "none"), "--home", home), { code: 3, errors: /is not a directory/ });
  t.match(await millrace("serve", dir, "--home", home, "--host", "0.0.0.0"), {
    code: 3,
    errors: /^millrace: host 0\.0\.0\.0 can be reached.*--allow-anonymous/,
  });
  t.match(await millrace("serve", dir, "--home", home, "--port", "x"), {
    code: 3,
    errors: /^millrace: --port must be a whole number/,
  });
  t.match(await millrace("runs", "ls", "--limit", "x"), { code: 3, errors: /^millrace: --limit must be/ });
  t.match(await millrace("--version"), { code: 0, out: /^\d+\.\d+\.\d+\n$/ });
  t.match(await millrace("runs", "ls", "--help"), { code: 0, out: /Usage: millrace runs ls/ });
});
