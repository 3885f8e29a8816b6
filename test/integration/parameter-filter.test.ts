/** Runs by the values of their parameters: over the client, on the stream and on the command line. */
import { join } from "node:path";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { millrace, serve, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const JOB = {
  project: "shop",
  flow: "bill",
  module: "shop.ts",
  source_dir: "/nowhere",
  parameter_schema: { properties: { customer: {}, region: {} } },
};

t.test("lists, counts, the stream and the command line take values of parameters", async (t) => {
  const root = testFolder(t, { served: {} });
  const home = join(root, "home");
  await serve(t, join(root, "served"), home);
  const client = new Millrace({ home });
  const create = (parameters: Record<string, unknown>) => client.runs.create({ ...JOB, parameters });
  const [seven, other] = [await create({ customer: 7, region: "north" }), await create({ customer: 8, region: "north" })];
  const ids = async (parameters: Record<string, string | number>) =>
    (await client.runs.list({ parameters }).first(10)).map(({ id }) => id);
  t.same(await ids({ customer: 7 }), [seven.id]);
  t.same(await ids({ region: "north" }), [other.id, seven.id]);
  t.same(await ids({ region: "north", customer: 9 }), []);
  t.match(await client.runs.counts({ parameters: { customer: 7 } }), { total: 1 });

  const stop = new AbortController();
  const seen: number[] = [];
  for await (const { event, data } of client.stream({
    parameters: { customer: 7 },
    kinds: ["run.updated"],
    signal: stop.signal,
  })) {
    if (event === "hello") {
      await client.runs.cancel(other.id);
      await client.runs.cancel(seven.id);
    } else if (event === "run.updated") {
      seen.push(data.id);
      stop.abort();
    }
  }
  t.same(seen, [seven.id], "the message of the other run came first and was left out");

  const listed = async (...args: string[]) => {
    const { code, out, errors } = await millrace("runs", "ls", "--home", home, "--json", ...args);
    t.equal(code, 0, errors);
    return (JSON.parse(out) as { id: number }[]).map(({ id }) => id);
  };
  t.same(await listed("-p", "customer=7"), [seven.id]);
  t.same(await listed("-p", "customer=7", "-p", "region=south"), []);
  const wrong = await millrace("runs", "ls", "--home", home, "-p", "customer");
  t.match(wrong.errors, /"customer" is not a parameter/);
  const watching = startCommand(["runs", "ls", "-p", "customer=9", "--json", "--watch", "--home", home]);
  t.teardown(() => watching.child.kill("SIGKILL"));
  await watching.printed("[]");
  const nine = await create({ customer: 9 });
  await watching.printed(`"id":${nine.id}`);
});
