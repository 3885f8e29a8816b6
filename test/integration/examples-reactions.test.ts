/** The examples of the guides on rules and custom routes, on a real server. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { firings, until } from "../support/called-code.ts";
import { serve } from "../support/command-line.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/reactions", import.meta.url));

t.test("a request starts a run, and failures in a row are told", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "millrace-reactions-"));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  await serve(t, EXAMPLES, home);
  const client = new Millrace({ home });
  const url = await client.address();
  const post = (body: unknown) => fetch(`${url}/intake/sales`, { method: "POST", body: JSON.stringify(body) });

  t.equal((await post({ rows: 5 })).status, 422);
  const ids: number[] = [];
  for (let count = 0; count < 3; count += 1) {
    const answer = await post({ rows: [3, 4] });
    const { run } = (await answer.json()) as { run: number };
    t.match({ status: answer.status, location: answer.headers.get("location") }, { status: 202, location: `/api/runs/${run}` });
    ids.push(run);
  }
  const [first = 0] = ids;
  t.match(await client.runs.get(first), { flow_name: "ingest", parameters: { dataset: "sales", rows: [3, 4] } });

  const rules = new Map((await client.rules.list()).map((rule) => [rule.name, rule]));
  t.match(rules.get("nothing by eight"), {
    source: "code",
    at: { tz: "Europe/Berlin" },
    within: 28_800,
    do: [{ kind: "webhook" }],
  });
  const stuck = rules.get("stuck");
  t.match(stuck, { source: "code", module: "silence.ts", within: 1_800, do: [{ kind: "cancel_run" }] });
  await client.runs.transition(ids[0] ?? 0, { type: "Running", force: true });
  await until(async () => (await client.rules.expectations(stuck?.id ?? 0))[0]?.run_id === ids[0] || undefined);

  for (const [index, id] of ids.entries()) {
    await client.runs.transition(id, { type: "Failed", force: true });
    const [latest] = await firings(client, "escalate", index + 1);
    t.match(latest, { outcomes: [{ status: "completed", detail: { failures: index + 1 } }] });
  }
  t.match((await client.events.list({ name: "flow-in-trouble" }).page()).items, [{ payload: { flow: "ingest", failures: 3 } }]);
});
