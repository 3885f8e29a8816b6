/**
 * Imports the crontabs of this machine and of Debian packages:
 * `node --conditions=millrace-src test/load/crontabs.ts [PACKAGE...]`
 *
 * Reads /etc/crontab and /etc/cron.d, and the files in etc/cron.d of packages that `apt-get download` fetches into a temporary
 * folder. Every row must be imported, or named with a reason. Exit code 0 if so.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readCrontab } from "#cli/import/crontab";
import { jobsOf } from "#cli/import/crontab-jobs";
import { readJobs } from "#sdk/jobs/read-jobs";
import { scheduleProblems } from "#server/discovery/declared-schedules";

const PACKAGES = [
  "cron-daemon-common",
  "cron",
  "anacron",
  "sysstat",
  "certbot",
  "php-common",
  "mdadm",
  "munin",
  "awstats",
  "logcheck",
  "amavisd-new",
  "e2fsprogs",
];
const COMMENT_OR_BLANK = /^\s*(?:#.*)?$/;
const ENVIRONMENT = /^\s*["']?[A-Za-z_]\w*["']?\s*=/;

interface Crontab {
  name: string;
  text: string;
}

function filesIn(root: string, shown: string): Crontab[] {
  const folder = join(root, "etc/cron.d");
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith(".")) : [];
  const paths = [...names.map((name) => join("etc/cron.d", name)), "etc/crontab"].filter((path) => existsSync(join(root, path)));
  return paths.map((path) => ({ name: `${shown}/${path}`, text: readFileSync(join(root, path), "utf8") }));
}

function filesOfPackage(name: string, folder: string): Crontab[] {
  const own = join(folder, name);
  mkdirSync(own);
  try {
    execFileSync("apt-get", ["download", name], { cwd: own, stdio: "ignore" });
    const [archive = ""] = readdirSync(own);
    execFileSync("dpkg-deb", ["-x", archive, "root"], { cwd: own, stdio: "ignore" });
  } catch {
    process.stdout.write(`-      ${name} cannot be had\n`);
    return [];
  }
  return filesIn(join(own, "root"), name);
}

/** Every row that cron would run must be a job or have a reason. */
function check({ name, text }: Crontab): { rows: number; imported: number; isComplete: boolean } {
  const rows = text.split("\n").filter((line) => !COMMENT_OR_BLANK.test(line) && !ENVIRONMENT.test(line));
  const { jobs, refused } = jobsOf(readCrontab(text, true), {
    user: "root",
    home: "/root",
    taken: new Set(),
    scheduleError: (cron, timezone) => scheduleProblems([{ kind: "cron", cron, timezone }])[0] ?? null,
  });
  const { problems } = readJobs(jobs.map(({ toml }) => toml).join("\n"));
  const isComplete = problems.length === 0 && jobs.length + refused.length === rows.length;
  process.stdout.write(`${isComplete ? "ok    " : "FAILED"} ${name}: ${jobs.length} of ${rows.length} rows imported\n`);
  for (const { line, reason } of refused) process.stdout.write(`         line ${line}: ${reason}\n`);
  for (const problem of problems) process.stdout.write(`         ${problem}\n`);
  return { rows: rows.length, imported: jobs.length, isComplete };
}

const packages = process.argv.length > 2 ? process.argv.slice(2) : PACKAGES;
const folder = mkdtempSync(join(tmpdir(), "millrace-crontabs-"));
try {
  const found = [...filesIn("/", "this machine"), ...packages.flatMap((name) => filesOfPackage(name, folder))].map(check);
  const [rows, imported] = [found.reduce((sum, each) => sum + each.rows, 0), found.reduce((sum, each) => sum + each.imported, 0)];
  process.stdout.write(`${found.length} crontabs, ${imported} of ${rows} rows imported, the others named\n`);
  process.exitCode = found.length > 0 && found.every(({ isComplete }) => isComplete) ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
