import { flow, log, route, Type } from "millrace";
import { Millrace } from "millrace/client";

export const ingest = flow("ingest", { parameters: Type.Object({ rows: Type.Array(Type.Number()) }) }, async ({ rows }) => {
  log.info("took %d rows", rows.length);
  return rows.reduce((sum, row) => sum + row, 0);
});

/** curl -X POST -d '{"rows": [3, 4]}' 127.0.0.1:4270/intake starts a run and answers with its id. */
export const intake = route("POST", "/intake", { timeout: "10s" }, async (request) => {
  const { rows } = (await request.json()) as { rows?: unknown };
  if (!Array.isArray(rows)) return Response.json({ error: "rows: expected a list of numbers" }, { status: 422 });
  const client = new Millrace();
  const known = (await client.flows.list()).find(({ name }) => name === "ingest");
  if (known === undefined) return Response.json({ error: "the flow is not served" }, { status: 503 });
  const run = await client.flows.run(known.id, { parameters: { rows } });
  return Response.json({ run: run.id }, { status: 202 });
});
