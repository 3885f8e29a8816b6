/** The completion of the command line in the shells themselves: zsh and fish where they are installed, bash always. */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { millrace } from "../support/command-line.ts";

/** With "all", a shell that is missing fails its test instead of skipping it. */
const SHELLS = process.env["MILLRACE_TEST_SHELLS"];
/** Well above what a shell takes to start and complete. */
const LIMIT_MS = 30_000;

function lacks(shell: string): string | false {
  const installed = spawnSync(shell, ["-c", "true"]).status === 0;
  return !installed && SHELLS !== "all" ? `${shell} is not installed` : false;
}

t.test("bash completes commands, subcommands and the options of each", async (t) => {
  const { out } = await millrace("completion", "bash");
  const complete = (...words: string[]): string[] => {
    const script = `${out}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", script], { encoding: "utf8" }).trim().split("\n");
  };
  t.same(complete("millrace", "sch"), ["schedules"]);
  t.ok(complete("millrace", "runs", "").includes("logs"));
  t.same(complete("millrace", "import", "crontab", "--dry"), ["--dry-run"]);
  t.same(complete("millrace", "--home", "x", "check", "--st"), ["--strict"]);
});

t.test("fish completes them with what each is for", { skip: lacks("fish") }, async (t) => {
  const { out } = await millrace("completion", "fish");
  const file = join(t.testdir(), "millrace.fish");
  writeFileSync(file, out);
  const complete = (line: string): string[] => {
    const script = `source '${file}'; complete -C '${line}'`;
    const home = t.testdirName;
    const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home };
    return execFileSync("fish", ["-N", "-c", script], { encoding: "utf8", env, timeout: LIMIT_MS }).trim().split("\n");
  };
  t.match(complete("millrace sch"), [/^schedules\tlook at schedules/]);
  t.ok(complete("millrace runs ").some((line) => line.startsWith("logs\t")));
  t.match(complete("millrace import crontab --dry"), [/^--dry-run\t/]);
  t.match(complete("millrace --home x check --st"), [/^--strict\t/]);
});

t.test("zsh completes what is typed at its prompt", { skip: lacks("zsh") }, async (t) => {
  const { out } = await millrace("completion", "zsh");
  const folder = t.testdir({ "completion.zsh": out });
  /** The line at the prompt once the Tab key was pressed. */
  const completed = (typed: string, expected: string): string => {
    const script = `zmodload zsh/zpty; zpty z zsh -f -i
zpty -w z 'autoload -Uz compinit; compinit -u -D; source "${join(folder, "completion.zsh")}"; print REA""DY'
zpty -r -m z out '*READY*' || exit 1
zpty -w -n z '${typed}'$'\\t'
zpty -r -m z out '*${expected}*' && print -r -- "$out"`;
    return execFileSync("zsh", ["-f", "-c", script], { encoding: "utf8", timeout: LIMIT_MS });
  };
  t.match(completed("millrace sch", "schedules"), /schedules/);
  t.match(completed("millrace runs expl", "runs explain"), /runs explain/);
  t.match(completed("millrace import crontab --dry", "--dry-run"), /--dry-run/);
});

t.test("another shell is refused with the known ones", async (t) => {
  t.match(await millrace("completion", "tcsh"), { code: 3, errors: /Known are bash, zsh, fish/ });
});
