import t from "tap";
import { startRestarted } from "../support/restarted-server.ts";

const schema = { type: "object", properties: { day: { type: "string", format: "date" } } };
const reference = { flow: "fill", project: "clock", module: "tick.ts", source_dir: "/nowhere" };

t.test("a backfill keeps its counts, and its check is still to be answered", async (t) => {
  const server = await startRestarted(t);
  await server.client.runs.create({ ...reference, parameter_schema: schema, options: { has_bulk_complete: true } });
  const fill = (await server.client.flows.list()).find(({ name }) => name === "fill")?.id ?? 0;
  const made = await server.client.backfills.create(fill, { parameter: "day", start: "2026-01-01", end: "2026-01-05" });
  t.match(made, { total: 5, counts: { Scheduled: 5 }, cancelled: false });
  await server.restart();
  t.same(await server.client.backfills.get(made.id), made);
  t.same(await server.client.backfills.list(fill), [made]);
  t.match(await server.client.backfills.cancel(made.id), { cancelled: true, counts: { Cancelled: 5 } });
  await server.restart();
  t.match(await server.client.backfills.cancel(made.id), { cancelled: true, counts: { Cancelled: 5 } }, "known from the store");
});
