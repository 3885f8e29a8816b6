import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { settingsFolder } from "#cli/import/import-crontab";
import { BUILT } from "../../scripts/built.ts";
import { millrace, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const TEMPLATES = ["first", "etl", "agent", "api", "commands"];
const TSC = join(BUILT, "../node_modules/.bin/tsc");

t.test("each template of init passes its own test, the compiler and check, and is never written over", async (t) => {
  for (const template of TEMPLATES) {
    const folder = join(testFolder(t), template);
    const made = await millrace("init", folder, "--template", template);
    t.equal(made.code, 0, made.errors);
    t.match(made.out, /Next: .*npm install && npm test && npx millrace serve flows/);
    mkdirSync(join(folder, "node_modules/@types"), { recursive: true });
    symlinkSync(join(BUILT, ".."), join(folder, "node_modules/millrace"));
    symlinkSync(join(BUILT, "../node_modules/@types/node"), join(folder, "node_modules/@types/node"));
    const tested = spawnSync(process.execPath, ["--test", join(folder, "test/**/*.test.ts")], { encoding: "utf8" });
    t.equal(tested.status, 0, tested.stdout);
    t.match(tested.stdout, /pass [1-9]/);
    t.equal(execFileSync(TSC, ["-p", folder], { encoding: "utf8" }), "");
    const checked = await millrace("check", join(folder, "flows"), "--strict");
    t.equal(checked.code, 0, checked.out + checked.errors);
    t.match(checked.out, /[1-9] flow/);
    const before = readFileSync(join(folder, "package.json"), "utf8");
    const again = await millrace("init", folder);
    t.equal(again.code, 3);
    t.match(again.errors, /has package\.json, .* already, and nothing is overwritten/);
    t.equal(readFileSync(join(folder, "package.json"), "utf8"), before);
  }
  t.match(
    (await millrace("init", join(testFolder(t), "x"), "--template", "none")).errors,
    /Known are agent, api, commands, etl, first/,
  );
});

t.test("check names what a server would refuse, and its exit code is for a pipeline", async (t) => {
  const folder = testFolder(t, {
    "broken.ts": `import { cron, flow, Type } from "millrace";
export const a = flow("a", { schedules: [{ wire: { kind: "cron", cron: "61 * * * *" } }] }, () => 1);
const parameters = Type.Object({ rows: Type.Integer(), day: Type.String() });
const [good, wrong] = [{ rows: 3, day: "{{ fire.date }}" }, { rows: "many", day: "{{ fire.date }}" }];
export const b = flow("b", { parameters, schedules: [cron("@daily", { parameters: good }), cron("@hourly", { parameters: wrong })] }, () => 1);
`,
    "millrace.toml": '[server]\nprot = 1\n[jobs.bad]\nrun = "true"\ntimeout = "soon"\n',
  });
  const { code, out } = await millrace("check", folder);
  t.equal(code, 1);
  t.match(out, /unknown key prot in \[server\]/);
  t.match(out, /millrace\.toml +Error: line 5: \[jobs\.bad\] timeout must be a number of seconds/);
  t.match(out, /broken\.ts +flow ".*\/a": schedule 0: .*minute/);
  t.match(out, /broken\.ts +flow ".*\/b": schedule 1: parameter "rows": expected integer/);
  t.notMatch(out, /"b": schedule 0/, "parameters that fit, as templates too");
  writeFileSync(join(folder, "millrace.toml"), "[server]\nport = true\n");
  t.match(await millrace("check", folder), { code: 1, out: /\[server\] port must be a whole number/ });
  writeFileSync(join(folder, "millrace.toml"), "[server]\nprot = 1\n");
  writeFileSync(join(folder, "broken.ts"), 'import { flow } from "millrace";\nexport const a = flow("a", () => 1);\n');
  t.match(await millrace("check", folder), { code: 0 });
  const strict = await millrace("check", folder, "--strict", "--json");
  t.equal(strict.code, 1);
  t.match(JSON.parse(strict.out), { sound: false, flows: 1, warnings: [/prot/] });
});

t.test("the jobs of a crontab go where the settings are: here, or in flows", async (t) => {
  const made = testFolder(t, {
    flows: { "millrace.toml": "" },
    both: { "millrace.toml": "", flows: { "millrace.toml": "" } },
    none: {},
  });
  t.equal(settingsFolder(made), join(made, "flows"));
  for (const name of ["both", "none"]) t.equal(settingsFolder(join(made, name)), join(made, name), name);
});

t.test("import crontab reports each row, writes jobs that check takes, and writes nothing with --dry-run", async (t) => {
  const folder = testFolder(t, {
    tab: "MAILTO=ada\n0 6 * * 1-5 /usr/bin/report --all\n@reboot start-it\n*/5 * * * * mail ada%hello%\n",
  });
  const dry = await millrace("import", "crontab", join(folder, "tab"), "--to", folder, "--dry-run");
  t.equal(dry.code, 1);
  t.match(dry.out, /line 2: \[jobs\.report\]/);
  t.match(dry.out, /line 3: not imported: @reboot start-it\n +@reboot: a job runs/);
  t.match(dry.out, /line 1: has no effect: MAILTO=ada/);
  t.throws(() => readFileSync(join(folder, "millrace.toml")), { code: "ENOENT" });
  const written = await millrace("import", "crontab", join(folder, "tab"), "--to", folder);
  t.match(written.out, /2 jobs added to .*millrace\.toml, 1 row not imported\./);
  t.match(await millrace("check", folder, "--strict"), { code: 0, out: /2 flows, 2 schedules/ });
  const piped = startCommand(["import", "crontab", "-", "--to", folder], { stdin: "pipe" });
  piped.child.stdin?.end("0 1 * * * report\n");
  t.match((await piped.ended).out, /line 1: \[jobs\.report-2\]/);
});
