import { parse } from "smol-toml";
import t from "tap";
import { readCrontab } from "#cli/import/crontab";
import { jobsOf } from "#cli/import/crontab-jobs";
import { readJobs } from "#sdk/jobs/read-jobs";
import { scheduleProblems } from "#server/discovery/declared-schedules";

type Table = Record<string, unknown>;

/** The jobs of a crontab, and the reasons of the other rows, by line. */
function imported(text: string, { system = false, user = "ada", taken = [] as string[] } = {}) {
  const found = jobsOf(readCrontab(text, system), {
    user,
    home: "/home/ada",
    taken: new Set(taken),
    scheduleError: (cron, timezone) => scheduleProblems([{ kind: "cron", cron, timezone }])[0] ?? null,
  });
  const toml = found.jobs.map((job) => job.toml).join("\n");
  const read = readJobs(toml);
  if (read.problems.length > 0) throw new Error(read.problems.join("; "));
  const tables = (toml === "" ? {} : parse(toml)["jobs"]) as Record<string, Table>;
  const jobs = found.jobs.map(({ name }) => ({ name, ...tables[name] }) as Table & { name: string });
  const reasons = [...found.refused, ...found.notes].map(({ line, reason }) => `${line}: ${reason}`);
  return { jobs, reasons };
}

interface Written {
  /** What the crontab shows. */
  about: string;
  text: string;
  system?: boolean;
  user?: string;
  jobs: Table[];
  reasons?: RegExp[];
}

/** After crontab(5) of Vixie cron, Debian's cron and cronie. */
const CRONTABS: readonly Written[] = [
  {
    about: "the example of the manual: blank lines, comments, tabs, and a comment above a row",
    text: "# use /bin/sh\nSHELL=/bin/sh\nMAILTO=paul\n#\n# run five minutes after midnight, every day\n5 0 * * *\t$HOME/bin/daily.job >> $HOME/tmp/out 2>&1\n\n  15 14 1 * *     $HOME/bin/monthly\n",
    jobs: [
      {
        name: "daily",
        run: "$HOME/bin/daily.job >> $HOME/tmp/out 2>&1",
        cron: "5 0 * * *",
        description: "run five minutes after midnight, every day",
        cwd: "/home/ada",
      },
      { name: "monthly", cron: "15 14 1 * *" },
    ],
    reasons: [/^3: MAILTO: output goes to the log of the run/],
  },
  {
    about: "an unescaped per cent sign begins the input, further ones are line ends, an escaped one is itself",
    text: '0 22 * * 1-5 mail -s "It\'s 10pm" joe%Joe,%%Where are your kids?%\n1 1 * * * date +\\%F\n',
    jobs: [
      { name: "mail", run: 'mail -s "It\'s 10pm" joe', input: "Joe,\n\nWhere are your kids?\n\n" },
      { name: "date", run: "date +%F" },
    ],
  },
  {
    about: "steps, lists and names in any case",
    text: '23 0-23/2 * * * echo "every second hour"\n*/10,7 4,5 1-7/3 JAN-mar,Dec Sun,fri echo x\n',
    jobs: [{ cron: "23 0-23/2 * * *" }, { cron: "*/10,7 4,5 1-7/3 JAN-mar,Dec Sun,fri" }],
  },
  {
    about: "Sunday is 0 and 7",
    text: "5 4 * * 7 echo a\n5 4 * * 0-7 echo b\n5 4 * * 5-7 echo c\n",
    jobs: [{ cron: "5 4 * * 7" }, {}, {}],
  },
  {
    about: "two restricted day fields match by either, an asterisk with a step makes both necessary",
    text: "30 4 1,15 * 5 echo or\n0 0 */2 * sun echo and\n0 0 1 * */2 echo and\n0 0 */2 * * echo one\n",
    jobs: [{ name: "echo" }, { name: "echo-2", day_or: false }, { name: "echo-3", day_or: false }, { name: "echo-4" }],
  },
  {
    about: "macros, and @reboot, which no schedule can say",
    text: "@reboot /usr/bin/start-agent\n@daily echo d\n@Midnight echo m\n@annually echo y\n@every_minute echo f\n@600 echo s\n",
    jobs: [{ cron: "@daily" }, { cron: "@midnight" }, { cron: "@annually" }],
    reasons: [/^1: @reboot: a job runs at times/, /^5: @every_minute is none of/, /^6: @600 is none of/],
  },
  {
    about: "environment counts for the rows below it, with quotes, blanks around the sign, and nothing expanded",
    text: "0 1 * * * first\nPATH=$HOME/bin:/usr/bin\n  \"GREETING\" = ' hello there '\nEMPTY=\n0 2 * * * second\nGREETING=bye\n0 3 * * * third\n",
    jobs: [
      { name: "first", env: undefined },
      { name: "second", env: { PATH: "$HOME/bin:/usr/bin", GREETING: " hello there ", EMPTY: "" } },
      { name: "third", env: { GREETING: "bye" } },
    ],
  },
  {
    about: "SHELL and HOME of the crontab",
    text: "SHELL=/bin/bash\nHOME=/srv\n0 1 * * * [[ -e x ]] && run-it\n",
    jobs: [{ shell: "/bin/bash", cwd: "/srv", env: { SHELL: "/bin/bash", HOME: "/srv" } }],
  },
  {
    about: "CRON_TZ of cronie is the zone of the rows below",
    text: "CRON_TZ=Asia/Tokyo\n0 9 * * * echo tokyo\n",
    jobs: [{ timezone: "Asia/Tokyo" }],
  },
  { about: "a zone that does not exist", text: "CRON_TZ=Mars/Base\n0 9 * * * echo x\n", jobs: [], reasons: [/^2: .*Mars\/Base/] },
  {
    about: "the user column of a system crontab",
    system: true,
    user: "root",
    text: "17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly\n25 6 * * * www-data test -x /usr/sbin/anacron || run-parts /etc/cron.daily\n0 0 * * * root\n",
    jobs: [{ name: "run-parts", run: "cd / && run-parts --report /etc/cron.hourly" }],
    reasons: [/^2: it runs as www-data, and a job runs as the user of the server/, /^3: it has no command behind the user/],
  },
  {
    about: "letters of other schedulers",
    text: "0 6 L * * echo a\n0 6 15W * * echo b\n0 6 * * 5L echo c\n0 6 * * 2#1 echo d\n0 6 ? * 1 echo e\nH 6 * * * echo f\n",
    jobs: [],
    reasons: [/^1: .*no L and W/, /^2: .*no L and W/, /^3: .*no L and W/, /^4: .*no #/, /^5: .*no \?/, /^6: .*of Jenkins/],
  },
  {
    about: "random times of cronie",
    text: "0~59 6 * * * echo a\n~ * * * * echo b\nRANDOM_DELAY=5\n",
    jobs: [],
    reasons: [/^1: .*random/, /^2: .*random/, /^3: RANDOM_DELAY/],
  },
  {
    about: "a sixth field of time",
    text: "0 */5 * * * * echo seconds\n0 0 12 1 * 2026 echo year\n",
    jobs: [],
    reasons: [/^1: "\*" looks like a sixth field/, /^2: "2026" looks like a sixth field/],
  },
  {
    about: "a hyphen before the row, which keeps cron from logging it",
    text: "-*/5 * * * * quiet-thing\n",
    jobs: [{ cron: "*/5 * * * *", name: "quiet-thing" }],
  },
  {
    about: "fields out of range, backwards ranges and steps that cron refuses or ignores",
    text: "60 * * * * a\n* 24 * * * b\n* * 0 * * c\n* * * 13 * d\n* * * * 8 e\n50-10 * * * * f\n*/0 * * * * g\n5/15 * * * * h\n1,,2 * * * * i\n* * * * fri-sun j\n*-5 * * * * k\n",
    jobs: [],
    reasons: [
      /^1: minute "60"/,
      /^2: hour "24": hours are from 0 to 23/,
      /^3: day of month "0"/,
      /^4: month "13"/,
      /^5: day of week "8"/,
      /^6: .*backwards/,
      /^7: .*not a step/,
      /^8: .*ignores a step behind a single value/,
      /^9: .*not complete/,
      /^10: .*backwards/,
      /^11: .*begins with a value/,
    ],
  },
  {
    about: "rows that are no rows",
    text: "just words\n* * * *\n* * * * *\n&&&&\n",
    jobs: [],
    reasons: [/^1: it is neither/, /^2: it is neither/, /^3: it has no command/, /^4: it is neither/],
  },
  {
    about: "a row that ends with a backslash does not go on in the next",
    text: "0 1 * * * echo a \\\n  b\n",
    jobs: [],
    reasons: [/^1: it ends with a backslash/, /^2: it is neither/],
  },
  {
    about: "lines that end as on Windows, and a last line without an end",
    text: 'MAILTO=""\r\n0 1 * * * echo a\r\n0 2 * * * echo b',
    jobs: [{ run: "echo a" }, { run: "echo b" }],
  },
  {
    about: "names of jobs from commands, free of those that exist",
    text: '0 1 * * * cd /opt/app && ./bin/report.py --all\n0 2 * * * FOO=1 nice -n 5 /usr/local/bin/report.sh\n0 3 * * * [ -x /usr/bin/x ] && /usr/bin/x\n0 4 * * * "/opt/my app/run"\n',
    jobs: [{ name: "report" }, { name: "report-2" }, {}, {}],
  },
  {
    about: "quotes, backslashes and control characters survive the TOML",
    text: "0 1 * * * printf '%s\\t\"\\\\\\%' \u007f é\n".replace("'%s", "'\\%s"),
    jobs: [{ run: "printf '%s\\t\"\\\\%' \u007f é" }],
  },
];

t.test("crontabs after the documented oddities: every row is imported or named", async (t) => {
  t.ok(CRONTABS.length >= 20);
  for (const { about, text, system = false, user = "ada", jobs, reasons = [] } of CRONTABS) {
    await t.test(about, async (t) => {
      const found = imported(text, { system, user });
      t.equal(found.jobs.length, jobs.length, found.reasons.join("\n"));
      for (const [at, job] of jobs.entries()) {
        const { env, ...rest } = job;
        t.match(found.jobs[at], rest);
        if ("env" in job && env === undefined) t.notOk(found.jobs[at]?.["env"]);
        else if (env !== undefined) t.match(found.jobs[at]?.["env"], env as object);
      }
      t.equal(found.reasons.length, reasons.length, found.reasons.join("\n"));
      for (const [at, reason] of reasons.entries()) t.match(found.reasons[at], reason);
    });
  }
});

t.test("names of existing jobs are not taken again", async (t) => {
  t.equal(imported("0 1 * * * backup\n", { taken: ["backup", "backup-2"] }).jobs[0]?.name, "backup-3");
});
