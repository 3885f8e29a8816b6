/**
 * A flow that is started by a request to its own route.
 *
 *     millrace serve examples/reactions
 *     curl -X POST -d '{"rows": [3, 4]}' 127.0.0.1:4270/intake/sales
 */
import { flow, log, route, Type } from "millrace";

export const ingest = flow(
  "ingest",
  { parameters: Type.Object({ dataset: Type.String(), rows: Type.Array(Type.Number()) }) },
  async ({ dataset, rows }) => {
    if (rows.some((row) => row < 0)) throw new RangeError(`${dataset} has a negative row`);
    log.info("took %d rows of %s", rows.length, dataset);
    return rows.reduce((sum, row) => sum + row, 0);
  },
);

/** Starts a run and answers with its id, so that the sender does not have to wait. */
export const intake = route("POST", "/intake/{dataset}", { timeout: "10s" }, async (request, { params }) => {
  const { rows } = (await request.json()) as { rows?: unknown };
  if (!Array.isArray(rows)) return Response.json({ error: "rows: expected a list of numbers" }, { status: 422 });
  const run = await ingest.start({ dataset: params.dataset, rows: rows as number[] });
  return Response.json({ run: run.id }, { status: 202, headers: { location: `/api/runs/${run.id}` } });
});
