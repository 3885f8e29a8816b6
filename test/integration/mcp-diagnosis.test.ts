/** An agent finds the cause of a failure with few calls and short answers: the official client against a server with an engine. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import t from "tap";
import type { Run } from "#protocol/records/run";
import { Millrace } from "#sdk/client/index";
import { newPlace } from "../support/called-code.ts";
import { serveWithEngines } from "../support/command-line.ts";

/** The failed run names a customer; why that customer has no address is in the log of another run of another flow. */
const CODE = `
  import { flow, log, task } from "millrace";
  const load = task("load", async (file) => {
    for (let row = 0; row < 200; row += 1) log.debug("row " + row + " of " + file);
    if (file === "part-7.csv") log.warning("part-7.csv: the column address is missing; customer 4711 was stored without one");
  });
  export const nightly = flow("nightly-import", async () => {
    for (let part = 0; part < 10; part += 1) await load("part-" + part + ".csv");
  });
  const address = task("address", { retries: 2, retryDelay: 0.01 }, async (customer) => {
    log.info("looking up customer " + customer);
    throw new Error("customer " + customer + " has no address");
  });
  export const invoices = flow("invoices", async () => {
    for (let invoice = 0; invoice < 50; invoice += 1) log.info("invoice " + invoice + " printed");
    await address(4711);
  });
`;

/** Four thousand tokens, at three characters each: JSON takes more tokens than prose. */
const CHARACTERS_MAX = 3 * 4_000;

t.test("three calls with short answers lead from 'something failed' to the cause in another run", async (t) => {
  const place = newPlace(t, CODE);
  const server = await serveWithEngines(t, place.dir, place.home);
  const api = new Millrace({ home: place.home });
  for (const name of ["nightly-import", "invoices", "nightly-import"]) {
    const [flow] = (await api.flows.list()).filter((each) => each.name === name);
    await api.runs.waitFor((await api.flows.run(flow?.id ?? 0)).id);
  }
  const client = new Client({ name: "official", version: "1" });
  // Its types declare `sessionId?: string`, the client's types do not allow undefined.
  await client.connect(new StreamableHTTPClientTransport(new URL("/mcp", server.url)) as Transport);
  t.teardown(() => client.close());
  let characters = 0;
  const call = async (name: string, args: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const { content, isError, structuredContent } = await client.callTool({ name, arguments: args });
    const [{ text } = { text: "" }] = content as { text: string }[];
    t.notOk(isError, `${name}: ${text}`);
    characters += text.length;
    return structuredContent as Record<string, unknown>;
  };
  const { runs } = await call("list_runs", { state_type: "Failed", limit: 1 });
  const [failed] = runs as Run[];
  t.match(failed, { flow_name: "invoices" });
  const { verdict } = await call("explain_failure", { run_id: failed?.id });
  t.match(verdict, /customer 4711 has no address/);
  const { logs } = await call("search_logs", { search: "customer 4711", min_level: 30, flow: "nightly-import" });
  t.match(logs, [
    { message: /the column address is missing/, flow_name: "nightly-import" },
    { message: /the column address is missing/ },
  ]);
  t.ok(characters < CHARACTERS_MAX, `${characters} characters`);
});
