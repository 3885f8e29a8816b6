import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ServerLog } from "#server/server-log";

const NOON_US = Date.UTC(2026, 0, 2, 12) * 1000;

t.test("a line has time and level, a longer text is indented, and only the owner may read the file", async (t) => {
  const home = t.testdir();
  const log = new ServerLog({ home, secrets: [], nowUs: () => NOON_US });
  log.info("started");
  log.write("error", "boom\n  at here");
  const path = join(home, "server.log");
  t.equal(
    readFileSync(path, "utf8"),
    "2026-01-02T12:00:00.000Z info  started\n2026-01-02T12:00:00.000Z error boom\n      at here\n",
  );
  t.equal(statSync(path).mode & 0o777, 0o600);
});

t.test("secrets are masked, also where a text is cut", async (t) => {
  const home = t.testdir();
  const log = new ServerLog({ home, secrets: ["hunter22", null, undefined, "ab"], nowUs: () => NOON_US });
  log.info("the token is hunter22, about");
  log.info(`${"x".repeat(3_996)}hunter22`);
  const text = readFileSync(join(home, "server.log"), "utf8");
  t.notMatch(text, /hunter/);
  t.match(text, /the token is \*{8}, about/, "a short text masks nothing");
  t.ok(text.length < 4_200, "a long text is cut");
});

t.test("the files stay few and small, also over restarts", async (t) => {
  const home = t.testdir();
  const options = { home, secrets: [], nowUs: () => NOON_US, fileBytesMax: 200 };
  for (let line = 0; line < 100; line += 1) new ServerLog(options).info(`line ${line}`);
  const files = ["server.log", "server.log.1", "server.log.2", "server.log.3"].map((name) => join(home, name));
  for (const file of files) t.ok(statSync(file).size <= 200, file);
  t.notOk(existsSync(join(home, "server.log.4")));
  const lines = files.toReversed().flatMap((file) => readFileSync(file, "utf8").trim().split("\n"));
  t.match(lines.at(-1), /line 99$/);
  t.equal(lines.length, new Set(lines).size, "nothing is there twice");
});

t.test("a home that takes no line does not end the server", async (t) => {
  const log = new ServerLog({ home: join(t.testdir(), "gone"), secrets: [], nowUs: () => NOON_US });
  t.doesNotThrow(() => log.info("lost"));
});
