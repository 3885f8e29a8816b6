import t from "tap";
import { readJobs } from "#sdk/jobs/read-jobs";
import { lineOf } from "#sdk/jobs/toml-lines";

t.test("a job with every key is read", async (t) => {
  const { jobs, problems, warnings } = readJobs(`
[server]
port = 0
[jobs.full]
run = ["echo", "a b"]
cron = ["0 6 * * *", "30 18 * * MON-FRI"]
every = "5m"
timezone = "Europe/Berlin"
catchup = "latest"
timeout = 90
retries = 2
retry_delay = "1m"
max_concurrent = 2
on_overlap = "skip"
env = { A = "b", N = 3 }
cwd = "sub"
shell = "/bin/bash"
input = "typed"
ok = [0, 2]
resources = { gpu = 0.5 }
description = "does it"
tags = ["nightly"]
[jobs.full.parameters]
region = "eu"
day = 2026-01-01
size = { type = "integer", minimum = 1 }
[jobs."two words"]
run = "true"
`);
  t.same([problems, warnings], [[], []]);
  t.same([...jobs.keys()], ["full", "two words"]);
  t.match(jobs.get("full"), { run: ["echo", "a b"], env: { A: "b", N: 3 }, parameters: { region: "eu", day: "2026-01-01" } });
});

t.test("each bad setting is a problem with its line, and the other jobs are read", async (t) => {
  const { jobs, problems, warnings } = readJobs(`# comment
[jobs.a]
run = ""
timeout = "soon"
[jobs.b]
cron = "@daily"
[jobs."c d"]
run = "true"
retries = -1
tiemout = 3
[jobs.e]
run = "true"
[jobs.e.parameters]
"not a name" = 1
[jobs]
f.run = "true"
f.env.A = [1]
g = 5
`);
  t.same(problems, [
    'line 3: [jobs.a] run must be a text, or a list of texts, not ""',
    'line 4: [jobs.a] timeout must be a number of seconds, or a text like "30s", "5m", "2h", not "soon"',
    "line 5: [jobs.b] needs run: the command",
    'line 9: [jobs."c d"] retries must be a whole number of at least 0, not -1',
    'line 13: [jobs.e] parameters must be a table whose keys are names of shell variables, and whose values are defaults or JSON Schemas, not {"not a name":1}',
    'line 17: [jobs.f] env must be a table of texts, not {"A":[1]}',
    "line 18: [jobs.g] must be a table",
  ]);
  t.same(warnings, ['line 10: [jobs."c d"] has the unknown key "tiemout", which does nothing; did you mean "timeout"?']);
  t.same([...jobs.keys()], []);
});

t.test("a text that is not TOML is a problem with its line", async (t) => {
  t.match(readJobs('[jobs.a]\nrun = "a\n').problems, [/^line 2, column \d+: /]);
  t.match(readJobs("jobs = 3\n").problems, ["line 1: jobs must be tables: [jobs.NAME]"]);
  t.same(readJobs("[server]\nport = 1\n"), { jobs: new Map(), problems: [], warnings: [] });
});

t.test("the line of a key is found in each form of TOML", async (t) => {
  const text = '[ jobs . "a b" ]\nrun = 1\nenv.X = 2\n[jobs.\'c\'.env]\n"Y Z" = 1\n';
  t.equal(lineOf(text, ["jobs", "a b"]), 1);
  t.equal(lineOf(text, ["jobs", "a b", "env", "X"]), 3);
  t.equal(lineOf(text, ["jobs", "c", "env", "Y Z"]), 5);
  t.equal(lineOf(text, ["jobs", "c", "env", "none"]), 4, "the table around it");
  t.equal(lineOf(text, ["server"]), null);
});
