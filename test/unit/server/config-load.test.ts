import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { SERVE } from "#cli/serve/serve-command";
import { SECRET_KEY_FILE_VARIABLE, SECRET_KEY_VARIABLE } from "#protocol/values/secret-key";
import { ConfigError, findStore, isLoopback, loadConfig } from "#server/config/config";
import { DEFAULTS_KEYS, SERVER_KEYS, VARIABLES } from "#server/config/config-keys";

/** Outside the checkout, whose path may be too long: a socket's path is limited to 103 bytes. */
function served(test: { teardown(run: () => void): void }, toml?: string): string {
  const dir = mkdtempSync(join(tmpdir(), "config-"));
  test.teardown(() => rmSync(dir, { recursive: true, force: true }));
  if (toml !== undefined) writeFileSync(join(dir, "millrace.toml"), toml);
  return dir;
}

t.test("defaults hold where nothing is said", async (t) => {
  const dir = served(t);
  const { config, warnings } = loadConfig({}, {}, dir);
  t.same(warnings, []);
  t.match(config, {
    home: join(homedir(), ".millrace"),
    host: "127.0.0.1",
    port: 4270,
    token: null,
    socket: null,
    engines: true,
    schedules: true,
    engineMaxRuns: 100_000,
    engineSlots: 256,
    maxRunning: null,
    engineGrowthMb: 256,
    maxExternalEngines: 10_000,
    cancelGraceSecs: 10,
    crashRerunDelaySecs: [5, 15],
    openBrowser: true,
    durability: "normal",
    catchupDefault: "skip",
    crashRetriesDefault: 5,
    retainDays: 30,
    retainRunsDays: null,
    resources: {},
    email: null,
    webhookNetworks: [],
    engineCommands: [],
    configPath: join(dir, "millrace.toml"),
  });
  t.ok(config.maxEngines >= 1);
});

t.test("the reference names the defaults that hold, and every variable that is read", async (t) => {
  const { config } = loadConfig({}, {}, served(t));
  const said = (keys: Readonly<Record<string, { standard: string }>>, name: string) => JSON.parse(keys[name]?.standard ?? "null");
  for (const name of [
    "engineMaxRuns",
    "engineSlots",
    "engineGrowthMb",
    "maxExternalEngines",
    "cancelGraceSecs",
    "crashRerunDelaySecs",
    "openBrowser",
  ] as const)
    t.same(said(SERVER_KEYS, name), config[name], name);
  for (const name of ["port", "allowedHosts", "mcpReadOnly", "durability"] as const)
    t.same(said(SERVER_KEYS, name), config[name], name);
  t.equal(SERVER_KEYS.host.standard, config.host);
  t.equal(said(DEFAULTS_KEYS, "catchup"), config.catchupDefault);
  t.equal(said(DEFAULTS_KEYS, "crashRetries"), config.crashRetriesDefault);
  t.equal(said(DEFAULTS_KEYS, "retainDays"), config.retainDays);
  const source = readFileSync(fileURLToPath(new URL("../../../server/config/config.ts", import.meta.url)), "utf8");
  const read = new Set(Array.from(source.matchAll(/env, "(MILLRACE_\w+)"/g), ([, name]) => name));
  for (const name of [SECRET_KEY_VARIABLE, SECRET_KEY_FILE_VARIABLE]) read.add(name);
  t.same([...read].sort(), Object.keys(VARIABLES).sort());
});

t.test("the help of serve names the defaults", async (t) => {
  const { config } = loadConfig({}, {}, served(t, ""));
  const defaults = SERVE.options?.flatMap(({ flags, description }) => {
    const [, said] = /\(default: ([^;)]+)/.exec(description) ?? [];
    return said === undefined ? [] : [[flags.split(" ")[0], said]];
  });
  t.match(Object.fromEntries(defaults ?? []), {
    "--host": config.host,
    "--port": `${config.port}`,
    "--engine-max-runs": `${config.engineMaxRuns}`,
    "--crash-retries": `${config.crashRetriesDefault}`,
    "--durability": config.durability,
    "--drain": `${config.drainSecs}s`,
  });
});

t.test("a flag beats a variable, a variable the file, the file the default", async (t) => {
  const dir = served(t, '[server]\nport = 1111\nhost = "localhost"\ntoken = "from-file"\nmax_engines = 3\n');
  t.equal(loadConfig({}, {}, dir).config.port, 1111);
  t.equal(loadConfig({}, { MILLRACE_PORT: "2222" }, dir).config.port, 2222);
  t.equal(loadConfig({ port: "0" }, { MILLRACE_PORT: "2222" }, dir).config.port, 0);
  t.equal(loadConfig({}, { MILLRACE_TOKEN: "from-env" }, dir).config.token, "from-env");
  t.equal(loadConfig({}, { MILLRACE_TOKEN: "" }, dir).config.token, "from-file", "an empty variable is not set");
  t.same(loadConfig({}, { MILLRACE_ALLOWED_HOSTS: "a.example, b" }, dir).config.allowedHosts, ["a.example", "b"]);
  t.equal(loadConfig({ maxEngines: "9" }, {}, dir).config.maxEngines, 9);
  t.equal(loadConfig({ home: "/a/b" }, { MILLRACE_HOME: "/c" }, dir).config.home, "/a/b");
  t.equal(loadConfig({}, { MILLRACE_HOME: "/c" }, dir).config.home, "/c");
});

t.test("crash_retries of the file beats its flag", async (t) => {
  t.equal(loadConfig({ crashRetries: "9" }, {}, served(t, "[defaults]\ncrash_retries = 2\n")).config.crashRetriesDefault, 2);
  t.equal(loadConfig({ crashRetries: "9" }, {}, served(t, "")).config.crashRetriesDefault, 9);
});

t.test("every table of the file is read", async (t) => {
  const dir = served(
    t,
    `[server]
crash_rerun_delay_secs = 0.2
cancel_grace_secs = 1
open_browser = false
allowed_hosts = ["build.example.org"]
durability = "full"
max_external_engines = 7
max_unfinished_runs = 9
socket = "run/m.sock"
[defaults]
catchup = "latest"
retain_days = 0
retain_runs_days = 90
max_engines = 4
[resources]
warehouse = 2
half = 0.5
[webhooks]
allow = ["192.168.0.0/16", "fd00::/8"]
[email]
host = "mail.example.org"
from = "millrace@example.org"
[engines]
"*.py" = "python3 -m 'my engine'"
"*.rb" = ["ruby", "engine.rb"]
`,
  );
  const { config, warnings } = loadConfig({}, {}, dir);
  t.same(warnings, []);
  t.match(config, {
    crashRerunDelaySecs: [0.2, 0.2],
    cancelGraceSecs: 1,
    openBrowser: false,
    allowedHosts: ["build.example.org"],
    durability: "full",
    maxExternalEngines: 7,
    maxUnfinishedRuns: 9,
    socket: join(dir, "run/m.sock"),
    catchupDefault: "latest",
    retainDays: 0,
    retainRunsDays: 90,
    maxEngines: 4,
    resources: { warehouse: 2, half: 0.5 },
    webhookNetworks: ["192.168.0.0/16", "fd00::/8"],
    email: { host: "mail.example.org", port: 587, tls: true, username: null, password: null, from: "millrace@example.org" },
    engineCommands: [
      { pattern: "*.py", command: ["python3", "-m", "my engine"] },
      { pattern: "*.rb", command: ["ruby", "engine.rb"] },
    ],
  });
});

t.test("the store and the key of secrets from the command line and the environment", async (t) => {
  const dir = served(t, "[store]\nurl = 'postgres://file@h/d'\nwait_secs = 2.5\n");
  const store = "postgresql://u:secret@db.example.org/d?sslmode=require";
  t.match(loadConfig({}, {}, dir).config, { store: "postgres://file@h/d", storeWaitSecs: 2.5 });
  t.match(loadConfig({ wait: "2m" }, { MILLRACE_STORE: store }, dir).config, { store, storeWaitSecs: 120 });
  const flag = "postgres://u@/d?host=/run/postgresql";
  t.equal(loadConfig({ store: flag }, { MILLRACE_STORE: store }, dir).config.store, flag);
  t.equal(loadConfig({}, {}, served(t, "")).config.store, null);
  for (const wrong of ["postgres://u:secret@h", "postgres:///d", "/a/file", "mysql://h/d"])
    t.throws(() => loadConfig({}, { MILLRACE_STORE: wrong }, dir), {
      name: "ConfigError",
      message:
        /^MILLRACE_STORE must be the URL of a PostgreSQL database: postgres:\/\/user:password@host:5432\/database, with @ as %40/,
    });
  t.throws(() => loadConfig({}, { MILLRACE_SECRET_KEY: "short" }, dir), {
    message: /^MILLRACE_SECRET_KEY holds no key of secrets/,
  });
  t.throws(() => loadConfig({}, { MILLRACE_SECRET_KEY_FILE: "/no/file" }, dir), {
    message: /^\/no\/file holds no key of secrets/,
  });
});

t.test("commands beside the server find the store that the server would have", async (t) => {
  const [file, other, flag, variable] = ["file", "other", "flag", "variable"].map((name) => `postgres://u@${name}/d`);
  const [home, folder, plain] = [served(t, `[store]\nurl = '${file}'\n`), served(t, `[store]\nurl = '${other}'\n`), served(t)];
  const found = (of: string, dir: string, flag?: string, env = {}) => findStore(flag, env, of, dir).database;
  t.same(found(home, folder, flag, { MILLRACE_STORE: variable }), { url: flag, namedBy: "--store" });
  t.same(found(home, folder, undefined, { MILLRACE_STORE: variable }), { url: variable, namedBy: "MILLRACE_STORE" });
  t.same(found(home, folder, undefined, { MILLRACE_STORE: "" }), {
    url: file,
    namedBy: `[store] url in ${join(home, "millrace.toml")}`,
  });
  t.match(found(plain, folder), { url: other });
  t.same(findStore(undefined, {}, plain, plain), { home: plain, database: null });
  t.throws(() => found(plain, plain, "/a/file"), { name: "ConfigError", message: /^--store must be the URL/ });
  t.throws(() => found(served(t, "[store]\nurl = 5\n"), plain), { name: "ConfigError" });
});

t.test("unknown keys and tables are warned about and ignored", async (t) => {
  const { warnings } = loadConfig({}, {}, served(t, "[server]\nprot = 1\n[servre]\nport = 2\n"));
  t.same(warnings, [
    "millrace.toml: unknown table [servre] is ignored",
    "millrace.toml: unknown key prot in [server] is ignored",
  ]);
});

t.test("a wrong value names the file, the key and what was expected", async (t) => {
  const cases: [string, RegExp][] = [
    ['[server]\nport = "x"', /^millrace\.toml: \[server\] port must be a whole number from 0 to 65535, not "x"$/],
    ["[server]\nport = 65536", /from 0 to 65535, not 65536/],
    ["[server]\nmax_engines = 0", /\[server\] max_engines must be a whole number of at least 1, not 0/],
    ["[server]\ncrash_rerun_delay_secs = [9, 1]", /must be a number of seconds, or \[shortest, longest\], not \[9,1\]/],
    ['[server]\ndurability = "most"', /durability must be "normal" or "full", not "most"/],
    ['[defaults]\ncatchup = "Skip"', /catchup must be "skip", "latest" or "all", not "Skip"/],
    ["[resources]\nwarehouse = -1", /\[resources\] warehouse must be a number of zero or more, not -1/],
    ["[resources]\nwarehouse = 2020-01-01", /not the date 2020/],
    ['[webhooks]\nallow = ["192.168.0.0/33"]', /\[webhooks\] allow must be a list of networks such as "192.168.0.0\/16"/],
    ['[webhooks]\nallow = ["intranet/8"]', /\[webhooks\] allow must be a list of networks/],
    ['[email]\nhost = "h"', /\[email\] needs a from address/],
    ['[engines]\n"*.py" = "python \'x"', /\[engines\] "\*\.py" must be a command with closed quotes/],
    ["server = 3", /server must be a table/],
    ["[store]\npath = 1", /\[store\] path is not supported: \[store\] has url and wait_secs/],
    ["[store]\nurl = 'mysql://h/d'", /\[store\] url must be the URL of a PostgreSQL database/],
    ["[store]\nurl = 'postgres://u:9@ss/x@h/d'", /with @ as %40, \/ as %2F, \? as %3F and # as %23 in the password$/],
    ["[store]\nurl = 'postgres://h'", /\[store\] url must be the URL of a PostgreSQL database/],
    ["[server\n", /millrace\.toml: line 1, column 8: /],
  ];
  for (const [toml, message] of cases) {
    t.throws(() => loadConfig({}, {}, served(t, toml)), { name: "ConfigError", message }, toml);
  }
});

t.test("a wrong flag or variable is named", async (t) => {
  const dir = served(t);
  t.throws(() => loadConfig({ port: "http" }, {}, dir), {
    message: /^--port must be a whole number from 0 to 65535, not "http"$/,
  });
  t.throws(() => loadConfig({}, { MILLRACE_PORT: "70000" }, dir), { message: /^MILLRACE_PORT must be/ });
  t.throws(() => loadConfig({ durability: "x" }, {}, dir), { message: /^--durability must be "normal" or "full"/ });
  t.throws(() => loadConfig({ socket: `/${"s".repeat(120)}` }, {}, dir), { message: /takes at most 103/ });
  t.throws(() => loadConfig({ token: "" }, {}, dir), { message: /--token must not be empty/ });
});

t.test("beyond loopback a token is needed, or the flag that says it is not", async (t) => {
  const dir = served(t);
  t.throws(() => loadConfig({ host: "0.0.0.0" }, {}, dir), ConfigError);
  t.throws(() => loadConfig({ host: "::" }, {}, dir), { message: /--allow-anonymous/ });
  t.same(loadConfig({ host: "0.0.0.0", token: "t" }, {}, dir).warnings, []);
  t.match(loadConfig({ host: "0.0.0.0", allowAnonymous: true }, {}, dir).warnings, [/anyone who reaches 0\.0\.0\.0/]);
  for (const host of ["localhost", "127.0.0.1", "127.9.9.9", "::1", "[::1]"]) t.ok(isLoopback(host), host);
  for (const host of ["127.0.0.1.example.org", "0.0.0.0", "::", "10.0.0.1"]) t.notOk(isLoopback(host), host);
});

t.test("the browser stays closed where the flag, the variable or the file says so", async (t) => {
  const dir = served(t);
  t.equal(loadConfig({ open: false }, {}, dir).config.openBrowser, false);
  t.equal(loadConfig({}, { MILLRACE_NO_BROWSER: "1" }, dir).config.openBrowser, false);
  t.equal(loadConfig({}, { MILLRACE_NO_BROWSER: "0" }, dir).config.openBrowser, true);
  t.equal(loadConfig({ engines: false }, {}, dir).config.engines, false);
});
