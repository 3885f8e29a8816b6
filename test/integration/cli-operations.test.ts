/** The commands for operating a running server and its home, with real processes. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { millrace, serve } from "../support/command-line.ts";

const TOKEN = "token-of-this-test";
const FLOW = { project: "shop", flow: "orders", module: "shop.py", source_dir: "/nowhere" };

t.test("a server is seen, examined, backed up, stopped and restored", async (t) => {
  const folder = t.testdir();
  const home = join(folder, "home");
  const file = join(folder, "backup.sqlite");
  const server = await serve(t, folder, home, "--token", TOKEN);
  const client = new Millrace({ home, token: TOKEN });
  const kept = await client.runs.create(FLOW);

  await t.test("status", async (t) => {
    const seen = await millrace("status", "--home", home, "--token", TOKEN, "--json");
    t.equal(seen.code, 0, seen.errors);
    t.match(JSON.parse(seen.out), { running: true, pid: server.child.pid, home, active_runs: 1, queued: 1 });
    t.match(await millrace("status", "--home", home, "--token", TOKEN), {
      code: 0,
      out: /Runs {5}1 run not ended, 1 of them queued/,
    });
    t.match(await millrace("status", "--home", home), { code: 3, errors: /a token is required/ });
  });

  await t.test("doctor on a live home", async (t) => {
    const report = await millrace("doctor", "--home", home, "--token", TOKEN);
    t.equal(report.code, 0, report.out);
    t.match(report.out, new RegExp(`a server runs \\(pid ${server.child.pid}\\)`));
    t.match(report.out, /The server went on during the checks/);
    t.notMatch(report.out, /millrace\.toml are known/, "a running server reports the totals");
  });

  await t.test("backup while the server takes runs", async (t) => {
    let going = true;
    const creating = (async () => {
      for (; going; ) await client.runs.create(FLOW);
    })();
    const made = await millrace("backup", file, "--home", home, "--json");
    going = false;
    await creating;
    t.equal(made.code, 0, made.errors);
    t.match(JSON.parse(made.out), { file, runs: Number, secrets: 0 });
    t.equal(statSync(file).mode & 0o777, 0o600);
    t.same(
      readdirSync(folder).filter((name) => name.startsWith("backup.")),
      ["backup.sqlite"],
      "one file, nothing beside it",
    );
    const again = await millrace("backup", file, "--home", home);
    t.match(again, { code: 3, errors: /exists: name another file, or pass --overwrite/ });
    t.match(await millrace("backup", file, "--home", home, "--overwrite"), { code: 0, out: /checked/ });
  });

  await t.test("restore is refused while the server runs, and nothing changed", async (t) => {
    const refused = await millrace("restore", file, "--home", home);
    t.match(refused, { code: 3, errors: /another server \(pid \d+\) uses .*millrace stop/ });
    t.match(await client.runs.get(kept.id), { id: kept.id });
  });

  const lost = await client.runs.create(FLOW);
  await t.test("stop", async (t) => {
    t.match(await millrace("stop", "--home", home), { code: 0, out: `The server (pid ${server.child.pid}) has stopped.\n` });
    t.match(await server.ended, { code: 0, errors: "" });
  });

  await t.test("the log of the server says what happened, and no token", async (t) => {
    const log = readFileSync(join(home, "server.log"), "utf8");
    t.match(log, /info {2}Millrace \S+ started: pid \d+, http:.*\n.*info {2}stopping\n.*info {2}stopped with exit code 0\n$/);
    t.notMatch(log, TOKEN);
    t.equal(statSync(join(home, "server.log")).mode & 0o777, 0o600);
  });

  await t.test("restore", async (t) => {
    const done = await millrace("restore", file, "--home", home, "--json");
    t.equal(done.code, 0, done.errors);
    const { aside, counters_kept } = JSON.parse(done.out) as { aside: string; counters_kept: boolean };
    t.ok(existsSync(aside), "the former store is kept");
    t.ok(counters_kept);
    t.match(await millrace("doctor", "--home", home), { code: 0, out: /no server runs/ });
    await serve(t, folder, home, "--token", TOKEN);
    const again = new Millrace({ home, token: TOKEN });
    const found = await again.runs.get(kept.id);
    t.match(found, { id: kept.id, external_id: kept.external_id });
    // Data from after the backup is gone.
    await t.rejects(again.runs.get(lost.id), { name: "MillraceError", status: 404 });
    t.ok((await again.runs.create(FLOW)).id > lost.id, "an id never returns");
    t.equal((await millrace("stop", "--home", home)).code, 0);
  });
});
