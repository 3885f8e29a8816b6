/** Messages of the commands when files are missing or damaged, with real processes. */
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { millrace, serve, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const FLOW = { project: "shop", flow: "orders", module: "shop.py", source_dir: "/nowhere" };

t.test("without a server and without a home, each command says so with exit code 3", async (t) => {
  const home = join(testFolder(t), "home");
  t.match(await millrace("status", "--home", home), { code: 3, errors: /no server is running for .*home/ });
  t.match(await millrace("stop", "--home", home), { code: 3, errors: /no server is running/ });
  t.match(await millrace("doctor", "--home", home), { code: 3, errors: /there is no home/ });
  t.match(await millrace("backup", join(t.testdirName, "b"), "--home", home), { code: 3, errors: /there is no store in/ });
  t.match(await millrace("restore", join(t.testdirName, "b"), "--home", home), { code: 3, errors: /there is no file/ });
  t.match(await millrace("stop", "--url", "http://127.0.0.1:1"), { code: 3, errors: /--home instead of --url/ });
  t.match(await millrace("stop", "--home", home, "--timeout", "0"), { code: 3, errors: /--timeout must be/ });
});

t.test("a store that is damaged is reported, not backed up, and replaced by a backup", async (t) => {
  const folder = testFolder(t);
  const home = join(folder, "home");
  const file = join(folder, "backup.sqlite");
  await serve(t, folder, home);
  const { id } = await new Millrace({ home }).runs.create(FLOW);
  t.equal((await millrace("backup", file, "--home", home)).code, 0);
  t.equal((await millrace("stop", "--home", home)).code, 0);
  const store = join(home, "db.sqlite");
  const bytes = readFileSync(store);
  bytes.fill(0xff, 4096, 40_960);
  writeFileSync(store, bytes);
  chmodSync(join(home, "server.log"), 0o644);
  const report = await millrace("doctor", "--home", home, "--json");
  t.equal(report.code, 1);
  const { sound, checks } = JSON.parse(report.out) as { sound: boolean; checks: { id: string; findings: { text: string }[] }[] };
  t.equal(sound, false);
  t.match(checks.find(({ id }) => id === "home")?.findings, [
    { text: /server\.log can be read by others \(mode 644\): chmod 600/ },
  ]);
  t.ok((checks.find(({ id }) => id === "file")?.findings.length ?? 0) > 0, report.out);
  const refused = await millrace("backup", join(folder, "other.sqlite"), "--home", home);
  t.match(refused, { code: 3, errors: /damaged|malformed|corrupt/ });
  t.same(
    readdirSync(folder).filter((name) => name.startsWith("other")),
    [],
    "nothing is left behind",
  );
  t.match(await millrace("restore", join(home, "server.log"), "--home", home), { code: 3 }, "a file that is no backup");
  t.ok(existsSync(store));
  t.match(await millrace("restore", file, "--home", home), {
    code: 0,
    out: /former store is kept as .*\n(?:It could not be read.*\n)?$/,
  });
  chmodSync(join(home, "server.log"), 0o600);
  t.match(await millrace("doctor", "--home", home), { code: 0 });
  await serve(t, folder, home);
  t.match(await new Millrace({ home }).runs.get(id), { id });
  t.equal((await millrace("stop", "--home", home)).code, 0);
});

t.test("service install prints the unit before it writes it", async (t) => {
  const config = join(testFolder(t, { flows: {} }), "config");
  const dir = join(t.testdirName, "flows");
  const install = (...args: string[]) =>
    startCommand(["service", "install", dir, ...args], { env: { XDG_CONFIG_HOME: config } }).ended;
  const unit = join(config, "systemd", "user", "millrace.service");
  const dry = await install("--dry-run");
  t.equal(dry.code, 0, dry.errors);
  t.notOk(existsSync(config));
  const written = await install();
  t.equal(written.code, 0, written.errors);
  t.ok(dry.out.includes(readFileSync(unit, "utf8")), "what was printed is what is written");
  t.match(written.out, /systemctl --user daemon-reload && systemctl --user enable --now millrace/);
  t.equal((await install()).code, 0, "the same again changes nothing");
  t.match(await install("--port", "4999"), { code: 3, errors: /exists and says something else/ });
  t.equal((await install("--port", "4999", "--overwrite")).code, 0);
  t.match(readFileSync(unit, "utf8"), "--port 4999");
  t.match(await install("--name", "a b"), { code: 3, errors: /--name must be/ });
  t.match(await startCommand(["service", "install", join(dir, "none")]).ended, { code: 3, errors: /is not a directory/ });
});
