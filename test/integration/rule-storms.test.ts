/** Rules that fire each other in every possible way: each storm ends, an event reports the reason, and the server continues. */
import t from "tap";
import { ServedHome, type ServedProcess, until } from "../support/served-home.ts";

/** Events of a chain that still fire rules: of depth 0 to 7. */
const ROUNDS = 8;
const RING = 50;

interface Firing {
  outcomes: { kind: string; status: string; error?: string }[];
}

async function createRule(server: ServedProcess, rule: Record<string, unknown>): Promise<number> {
  const answer = await server.call("POST", "/api/rules", { name: "r", once: "never", max_per_minute: 0, ...rule });
  if (answer.status !== 201) throw new Error(answer.text);
  return Number(answer.body["id"]);
}

async function firings(server: ServedProcess, rules: readonly number[]): Promise<Firing[]> {
  const lists = await Promise.all(rules.map((rule) => server.call<Firing>("GET", `/api/rules/${rule}/firings`)));
  return lists.flatMap(({ list }) => list);
}

/** Waits until a chain has ended: an action failed because of the chain's length, and the actions of all firings have their outcomes. */
async function ended(server: ServedProcess, rules: readonly number[]): Promise<Firing[]> {
  return until(async () => {
    const listed = await firings(server, rules);
    const isOver = listed.some(({ outcomes }) => outcomes.some(({ error }) => error?.includes("chain of rules")));
    if (!isOver) return null;
    // A firing is listed once its actions have ended. A webhook to this server may fire the next rule before its own answer arrives.
    const records = await Promise.all(rules.map((rule) => server.call("GET", `/api/rules/${rule}`)));
    const begun = records.reduce((sum, { body }) => sum + Number(body["fire_count"]), 0);
    return listed.length === begun ? listed : null;
  });
}

function emitting(server: ServedProcess, name: string): Record<string, unknown> {
  return { kind: "webhook", url: `${server.url}/api/events`, body: { name } };
}

t.test("storms of rules end by themselves", async (t) => {
  const home = new ServedHome();
  t.teardown(() => home.remove());
  const server = await home.serve();
  const failed = async (): Promise<number> => {
    const { body } = await server.call("GET", "/api/events?name=rule.action.failed&limit=1000");
    return (body["items"] as unknown[]).length;
  };

  await t.test("a rule that emits the event it is for, through a webhook to this server", async (t) => {
    const rule = await createRule(server, { when: { events: ["kit.self"] }, do: [emitting(server, "kit.self")] });
    await server.call("POST", "/api/events", { name: "kit.self" });
    const all = await ended(server, [rule]);
    t.equal(all.length, ROUNDS + 1);
    t.equal(all.filter(({ outcomes }) => outcomes[0]?.status === "completed").length, ROUNDS);
    t.equal(await failed(), 1, "an event says so");
  });

  await t.test("fifty rules in a ring of webhooks", async (t) => {
    const rules: number[] = [];
    for (let index = 0; index < RING; index += 1) {
      const action = emitting(server, `kit.ring.${(index + 1) % RING}`);
      rules.push(await createRule(server, { when: { events: [`kit.ring.${index}`] }, do: [action] }));
    }
    await server.call("POST", "/api/events", { name: "kit.ring.0" });
    t.equal((await ended(server, rules)).length, ROUNDS + 1);
  });

  await t.test("two flows that run each other, each with what follows from it", async (t) => {
    const flow = { project: "kit", module: "m.ts", source_dir: "/nowhere" };
    for (const name of ["one", "two"]) await server.call("POST", "/api/runs", { ...flow, flow: name });
    const rules: number[] = [];
    for (const [when, flows] of [
      ["one", "two"],
      ["two", "one"],
    ])
      rules.push(
        await createRule(server, {
          when: { events: ["run.scheduled"], flows: [when], project: "kit" },
          do: [{ kind: "run_flow", flow: flows }],
        }),
      );
    await server.call("POST", "/api/runs", { ...flow, flow: "one" });
    await ended(server, rules);
    const { body } = await server.call("GET", "/api/counts?project=kit");
    t.match(body, { runs: { Scheduled: 2 + 1 + ROUNDS } });
  });

  await t.test("a schedule that one rule pauses and another resumes", async (t) => {
    const created = await server.call("POST", "/api/runs", {
      project: "kit",
      flow: "timed",
      module: "m.ts",
      source_dir: "/nowhere",
    });
    const path = `/api/flows/${created.body["flow_id"]}/schedules`;
    const schedule = await server.call("POST", path, { kind: "interval", interval: 86_400 });
    const schedule_id = schedule.body["id"];
    const rules = [
      await createRule(server, { when: { events: ["schedule.paused"] }, do: [{ kind: "resume_schedule", schedule_id }] }),
      await createRule(server, { when: { events: ["schedule.resumed"] }, do: [{ kind: "pause_schedule", schedule_id }] }),
    ];
    await server.call("POST", `/api/schedules/${schedule_id}/pause`);
    t.equal((await ended(server, rules)).length, ROUNDS + 1);
  });

  await t.test("a hundred events in a moment fire a rule as often as it may, and no more", async (t) => {
    const rule = await createRule(server, { max_per_minute: 5, when: { events: ["kit.flood"] }, do: [{ kind: "cancel_run" }] });
    const last = await createRule(server, { when: { events: ["kit.flood.end"] }, do: [{ kind: "cancel_run" }] });
    await Promise.all(Array.from({ length: 100 }, () => server.call("POST", "/api/events", { name: "kit.flood" })));
    await server.call("POST", "/api/events", { name: "kit.flood.end" });
    await until(async () => ((await firings(server, [last])).length > 0 ? true : null));
    t.equal((await firings(server, [rule])).length, 5);
  });

  t.equal((await server.call("GET", "/api/health")).status, 200);
  const actors = (await server.call<{ name: string; mailbox_depth: number; restarts: number }>("GET", "/api/actors")).body;
  t.notMatch(JSON.stringify(actors), /"restarts":[1-9]/, "no actor has failed");
});
