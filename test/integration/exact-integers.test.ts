/** Integers beyond 2^53 in arbitrary JSON, through every body that the gateway parses: unchanged and harmless. */
import t from "tap";
import { ServedHome } from "../support/served-home.ts";

const BIG = "9007199254740993";

t.test("integers beyond 2^53 keep their digits in events, answers and artifacts", { timeout: 120_000 }, async (t) => {
  const home = new ServedHome();
  t.teardown(() => home.remove());
  const server = await home.serve();
  const post = async (path: string, text: string) => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${server.url}${path}`, { method: "POST", headers, body: text });
    return { status: answer.status, text: await answer.text() };
  };
  const created = await server.call("POST", "/api/runs", { project: "p", flow: "f", module: "m.py", source_dir: "/x" });
  const id = Number(created.body["id"]);
  const event = await post("/api/events", `{"name":"a.b","run_id":${id},"payload":{"n":${BIG},"list":[{"m":-${BIG}}]}}`);
  t.match(event, { status: 201, text: `"n":${BIG}` });
  t.match(event.text, `"list":[{"m":-${BIG}}]`);
  for (const type of ["Pending", "Running", "Paused"]) await server.call("POST", `/api/runs/${id}/transition`, { type });
  t.equal((await post(`/api/runs/${id}/resume`, `{"input":{"n":${BIG}}}`)).status, 200);
  t.match((await server.call("GET", `/api/runs/${id}/input`)).text, `{"input":{"n":${BIG}}`);
  const table = `{"run_id":${id},"kind":"table","data":{"columns":["n"],"rows":[[${BIG}]]}}`;
  t.match(await post("/api/artifacts", table), { status: 201, text: BIG });
  t.match((await server.call("GET", `/api/runs/${id}/artifacts`)).text, BIG);
  const unknown = `{"name":"a.b","unused":${BIG}}`;
  t.equal((await post("/api/events", unknown)).status, 201, "unknown fields are ignored");
  t.equal((await post("/api/resources/acquire", `{"run_id":${id},"resources":{"db":${BIG}}}`)).status, 422);
});
