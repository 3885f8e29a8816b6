/**
 * Measures rules: `node --conditions=millrace-src test/load/rule-cost.ts [EVENTS] [RULES]...`
 *
 * For each number of rules, the rate of events from their report to the firing of the last one: for events that no rule
 * matches, and for events that each fire one rule. CPU time is that of the whole server.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Millrace } from "#sdk/client/index";
import { startOwnServer } from "./own-server.ts";
import { readUsage } from "./process-usage.ts";
import { ReportingRun } from "./reporting-run.ts";

const EVENTS = 20_000;
const RULES = [10, 1_000, 10_000];
/** Number of concurrent requests that create rules. */
const CREATORS = 16;
/** Events of one report. */
const REPORT_EVENTS = 2_000;
const LOOK_EVERY_MS = 5;
/** An action without effect, because the flow has no schedules. */
const DO = [{ kind: "pause_schedule" as const }];
const FREE = { once: "never", max_per_minute: 0, do: DO } as const;

function show(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Reports the events, then one that matches only the rule `last`; resolves when that rule has fired. */
async function pass(run: ReportingRun, client: Millrace, names: readonly string[], last: number): Promise<number> {
  const before = (await client.rules.get(last)).fire_count;
  const startedMs = performance.now();
  for (let at = 0; at < names.length; at += REPORT_EVENTS) await run.report(names.slice(at, at + REPORT_EVENTS));
  await run.report(["load.last"]);
  while ((await client.rules.get(last)).fire_count === before) await sleep(LOOK_EVERY_MS);
  return (performance.now() - startedMs) / 1000;
}

async function measure(rules: number, events: number): Promise<void> {
  const target = await startOwnServer({ home: null, durability: "normal", token: null });
  const { host, port } = target.endpoint;
  const client = new Millrace({ url: `http://${host}:${port}` });
  const run = await ReportingRun.start(target);
  const cpuUs = (): number => readUsage(target.pid ?? 0)?.cpuUs ?? 0;
  try {
    const last = (await client.rules.create({ name: "last", when: { events: ["load.last"] }, ...FREE })).id;
    let next = 1;
    const create = async (): Promise<void> => {
      for (let index = next++; index < rules; index = next++)
        await client.rules.create({ name: `rule ${index}`, when: { events: [`load.${index}`] }, ...FREE });
    };
    await Promise.all(Array.from({ length: CREATORS }, create));
    const kinds = {
      "events that no rule names": Array.from({ length: events }, () => "load.other"),
      "events that fire one rule each": Array.from(
        { length: events },
        (_, index) => `load.${1 + (index % Math.max(1, rules - 1))}`,
      ),
    };
    for (const [kind, names] of Object.entries(kinds)) {
      const beforeUs = cpuUs();
      const seconds = await pass(run, client, names, last);
      const eachUs = (cpuUs() - beforeUs) / events;
      show(
        `${rules} rules, ${events} ${kind}: ${(events / seconds).toFixed(0)} events/s, ${eachUs.toFixed(0)} us of processor time each`,
      );
    }
  } finally {
    run.close();
    await target.stop();
  }
}

const [events = EVENTS, ...rules] = process.argv.slice(2).map(Number);
for (const count of rules.length > 0 ? rules : RULES) await measure(count, events);
process.exit(0);
