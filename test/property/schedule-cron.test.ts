import t from "tap";
import { CronFires, parseCron } from "#actors/scheduler/recurrence/cron";
import { findZone } from "#actors/scheduler/recurrence/zone";
import { cronDifferences } from "../support/cron-check.ts";
import { EXPRESSIONS } from "../support/cron-oracle.ts";

/**
 * Zones with changes of half an hour, of two hours, at midnight, at one minute past, and the usual changes in both
 * hemispheres.
 */
const ZONES = [
  "Europe/Berlin",
  "Australia/Lord_Howe",
  "Antarctica/Troll",
  "Africa/Cairo",
  "America/St_Johns",
  "America/Santiago",
];

t.equal(EXPRESSIONS.length, 40);

for (const zone of ZONES) {
  t.test(`every minute of two years in ${zone}`, async (t) => {
    // A third of the expressions, a different third for each zone; a separate command checks the whole table.
    const offset = ZONES.indexOf(zone) % 3;
    const some = EXPRESSIONS.filter((_, index) => index % 3 === offset);
    t.same(cronDifferences(zone, some), []);
  });
}

t.test("SUN ends a range like 7", async (t) => {
  const utc = findZone("UTC");
  const fires = (expression: string) => {
    const parsed = parseCron(`0 0 * * ${expression}`, true);
    return parsed.ok && utc !== null ? new CronFires(parsed.times, utc).after(0, 20) : parsed;
  };
  for (const [named, numbered] of [
    ["FRI-SUN", "5-7"],
    ["MON-SUN", "1-7"],
    ["TUE-SUN/2", "2-7/2"],
    ["SUN-TUE", "0-2"],
    ["SUN", "0"],
  ] as const)
    t.same(fires(named), fires(numbered), named);
});

t.test("what is no five-field expression is refused", async (t) => {
  const wrong = [
    "",
    "nope",
    "* * * *",
    "0 0 * * * *",
    "0 0 0 * * * *",
    "60 * * * *",
    "* 24 * * *",
    "* * 0 * *",
    "* * 32 * *",
    "* * * 13 *",
    "* * * * 8",
    "*/0 * * * *",
    "*/70 * * * *",
    "H * * * *",
    "* * 15W * *",
    "* * * * FRI-MON",
    "@reboot",
    "1,,2 * * * *",
    "1- * * * *",
    "-5 * * * *",
    "1/ * * * *",
    `${"1,".repeat(600)}1 * * * *`,
  ];
  for (const text of wrong) t.match(parseCron(text, true), { ok: false, error: /^invalid cron expression "/ }, text);
});

t.test("other ways of writing", async (t) => {
  for (const text of ["@daily", "0 0 L * *", "0 9 * * MON#1", "0 9 * * 5L", "0 0 * jan-mar sun", "0 0 30 2 *"])
    t.match(parseCron(text, true), { ok: true }, text);
});
