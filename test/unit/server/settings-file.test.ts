/** Settings are written back without changing the rest of the file. */
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { editSettings, writeSettings } from "#server/config/settings-file";

const FILE = `# our server
[server]
port = 4270   # fixed

[defaults]
retain_days = 30 # a month
# nothing else

[resources]
gpu = 1
"disk io" = 2
`;

t.test("a value is replaced where it stands; comments and order stay", async (t) => {
  const edited = editSettings(FILE, { defaults: { retain_days: 7 }, resources: { "disk io": 0.5 } });
  t.equal(edited, FILE.replace("30 # a month", "7 # a month").replace("= 2", "= 0.5"));
});

t.test("a new key goes to the end of its table, a new table to the end of the file", async (t) => {
  const edited = editSettings(FILE, { defaults: { crash_retries: 2 }, resources: { cpu: 4, "a b": 1 } });
  t.match(edited, "# nothing else\ncrash_retries = 2\n\n[resources]");
  t.ok(edited.endsWith('"disk io" = 2\ncpu = 4\n"a b" = 1\n'));
  t.equal(editSettings("", { resources: { gpu: 2 } }), "[resources]\ngpu = 2\n");
  t.equal(
    editSettings("[server]\nport = 1\n", { defaults: { retain_days: 0 } }),
    "[server]\nport = 1\n\n[defaults]\nretain_days = 0\n",
  );
});

t.test("a form that can't be edited in place is refused instead of broken", async (t) => {
  t.throws(() => editSettings("resources = { gpu = 1 }\n", { resources: { gpu: 2 } }));
  t.throws(() => editSettings("[resources.gpu]\ntotal = 1\n", { resources: { gpu: 2 } }));
});

t.test("the file is made when there is none and keeps its mode when there is one", async (t) => {
  const path = join(t.testdir(), "millrace.toml");
  writeSettings(path, { resources: { gpu: 3 } });
  t.equal(readFileSync(path, "utf8"), "[resources]\ngpu = 3\n");
  writeFileSync(path, FILE, { mode: 0o600 });
  const { mode } = statSync(path);
  writeSettings(path, { resources: { gpu: 3 } });
  t.equal(statSync(path).mode, mode);
  t.match(readFileSync(path, "utf8"), "gpu = 3");
});
