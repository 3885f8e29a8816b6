import { chmodSync, existsSync, lchownSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { quoteForShell } from "#protocol/values/shell-word";
import {
  type DiscoveryRecord,
  prepareHome,
  refusePlanted,
  removeDiscoveryFile,
  writeDiscoveryFile,
} from "#server/discovery-file";

const record: DiscoveryRecord = {
  auth: false,
  host: "127.0.0.1",
  pid: process.pid,
  port: 4270,
  socket: null,
  started_at: 1,
  url: "http://127.0.0.1:4270",
  version: "1.13.0",
};

t.test("the home is made, and forced to be private", async (t) => {
  const home = join(t.testdir({}), "a", "home");
  prepareHome(home);
  t.equal(statSync(home).mode & 0o777, 0o700);
  chmodSync(home, 0o755);
  prepareHome(home);
  t.equal(statSync(home).mode & 0o777, 0o700);
});

t.test("a home that everyone can write to is refused and left as it is", async (t) => {
  const home = join(t.testdir({}), "home");
  mkdirSync(home);
  chmodSync(home, 0o1777);
  t.throws(() => prepareHome(home), { name: "ConfigError", message: /written to by everyone/ });
  t.equal(statSync(home).mode & 0o7777, 0o1777);
});

t.test("a folder with files of something else is refused and left as it is, until it is made a home", async (t) => {
  const home = t.testdir({ "thesis.md": "text" });
  chmodSync(home, 0o755);
  t.throws(() => prepareHome(home), { name: "ConfigError", message: `touch ${quoteForShell(join(home, "db.lock"))}` });
  t.equal(statSync(home).mode & 0o777, 0o755);
  writeFileSync(join(home, "db.lock"), "");
  prepareHome(home);
  t.equal(statSync(home).mode & 0o777, 0o700);
});

t.test("a folder is a home by its store, its key, or the variables of the service; the root of a volume is empty", async (t) => {
  for (const name of ["db.sqlite", "secret.key", "service.env", "lost+found"]) {
    const home = t.testdir({ [name]: "" });
    prepareHome(home);
    t.equal(statSync(home).mode & 0o777, 0o700, name);
  }
});

t.test("a file in the place of the home is refused", async (t) => {
  t.throws(() => prepareHome(join(t.testdir({ home: "text" }), "home")), { name: "ConfigError" });
});

t.test("the file is whole, private under any umask, and leaves nothing beside it", async (t) => {
  const home = t.testdir({});
  const umask = process.umask(0);
  t.teardown(() => process.umask(umask));
  prepareHome(home);
  writeDiscoveryFile(home, record);
  t.same(JSON.parse(readFileSync(join(home, "server.json"), "utf8")), record);
  t.equal(statSync(join(home, "server.json")).mode & 0o777, 0o600);
  t.notOk(existsSync(join(home, `.server.json.${process.pid}`)));
});

t.test("a planted link is replaced, its target stays as it was", async (t) => {
  const home = t.testdir({});
  const target = join(home, "precious");
  writeFileSync(target, "precious");
  symlinkSync(target, join(home, "server.json"));
  symlinkSync(target, join(home, `.server.json.${process.pid}`));
  writeDiscoveryFile(home, record);
  t.equal(readFileSync(target, "utf8"), "precious");
  t.equal(JSON.parse(readFileSync(join(home, "server.json"), "utf8")).pid, process.pid);
});

t.test("only the process it names removes the file", async (t) => {
  const home = t.testdir({});
  writeDiscoveryFile(home, record);
  removeDiscoveryFile(home, process.pid + 1);
  t.ok(existsSync(join(home, "server.json")));
  removeDiscoveryFile(home);
  t.notOk(existsSync(join(home, "server.json")));
  removeDiscoveryFile(home);
});

t.test("a link that another user put into the home is refused, one of our own is not", async (t) => {
  const home = t.testdir({ "db.lock": "", "server.log": t.fixture("symlink", "/nowhere") });
  const uid = process.getuid?.() ?? 0;
  refusePlanted(home, uid);
  prepareHome(home);
  // Files in a user's home may belong to root.
  const other = { name: "ConfigError", message: /server\.log belongs to another user/ };
  if (uid !== 0) t.throws(() => refusePlanted(home, uid + 1), other);
  else {
    lchownSync(join(home, "server.log"), 12_345, 12_345);
    t.throws(() => prepareHome(home), other);
  }
});
