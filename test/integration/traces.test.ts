/** Traces of runs: from the creator's header through engine, tasks, waits, requests and children to a collector. */
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import type { Millrace } from "#sdk/client/index";
import { OtlpReceiver, type ReceivedSpan } from "../support/otlp-receiver.ts";
import { serveFlows } from "../support/served-flows.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const SAMPLED = `00-${TRACE}-${SPAN}-01`;
const UNSAMPLED = `00-${TRACE}-${SPAN}-00`;

const FLOWS = `
  import { AsyncLocalStorage } from "node:async_hooks";
  import { get } from "node:http";
  import { type Context, context, ROOT_CONTEXT, trace } from "@opentelemetry/api";
  import { child, flow, sleep, task } from "millrace";
  type Calls = { url: string };
  const parameters = { type: "object", properties: { url: { type: "string" } }, required: ["url"] };
  const byHttp = (url: string) => new Promise<void>((resolve) => get(url, (answer) => answer.resume().on("end", resolve)));
  const inner = task("inner", async ({ url }: Calls) => await fetch(url + "/inner"));
  const outer = task("outer", async (calls: Calls) => {
    await inner(calls);
    await byHttp(calls.url + "/outer");
    return 1;
  });
  const after = task("after", async (one: number) => one + 1);
  export const traced = flow("traced", { parameters }, async ({ url }: Calls) => {
    await fetch(url + "/flow", { headers: { "x-own": "1" } });
    return await after(outer({ url }));
  });
  const broken = task("broken", async () => {
    throw new TypeError("no such row");
  });
  export const failing = flow("failing", { retries: 1, retryDelay: 0 }, async () => {
    await broken();
  });
  export const dies = flow("dies", { crashRetries: 0 }, async () => process.exit(3));
  export const called = flow("called", { parameters }, async ({ url }: Calls) => {
    await fetch(url + "/called");
    return "done";
  });
  const storage = new AsyncLocalStorage<Context>();
  context.setGlobalContextManager({
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, code, self, ...values) => storage.run(active, () => code.call(self, ...values)),
    bind: (_active, target) => target,
    enable: () => undefined as never,
    disable: () => undefined as never,
  });
  const activeSpan = task("active-span", async () => trace.getSpanContext(context.active())?.spanId);
  export const instrumented = flow("instrumented", async () => [
    trace.getSpanContext(context.active())?.spanId,
    await activeSpan(),
  ]);
  export const late = flow("late", { parameters }, async ({ url }: Calls) => {
    await sleep(0.4);
    await fetch(url + "/late");
    return "done";
  });
  export const calls = flow("calls", { durable: true, parameters }, async ({ url }: Calls) => {
    await sleep(0.01);
    const result = await child(late, { url }).run();
    await sleep(2);
    return result;
  });`;

/** A server of the user's: the header of each request by its path. */
async function listen(t: Test): Promise<{ url: string; headers: Map<string, string> }> {
  const headers = new Map<string, string>();
  const server = createServer((request, response) => {
    headers.set(String(request.url), String(request.headers["traceparent"]));
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, headers };
}

async function served(t: Test, settings = "") {
  const receiver = await OtlpReceiver.start();
  t.teardown(() => receiver.close());
  const config = `[server]\notlp_endpoint = "${receiver.url}"\npark_after_secs = 0.1\nmax_engines = 1\n${settings}\n`;
  const { client } = await serveFlows(t, { "flows.ts": FLOWS, "millrace.toml": config });
  return { receiver, client, ...(await listen(t)) };
}

interface CreatedRun {
  id: number;
  external_id: string;
  traceparent?: string;
}

/** Creates a run with the header of a creator. */
async function create(client: Millrace, flow: string, parameters: object, traceparent: string | null): Promise<CreatedRun> {
  const body = JSON.stringify({ project: "flows", flow, parameters });
  const headers = { "content-type": "application/json", ...(traceparent !== null && { traceparent }) };
  const address = `${await client.address()}/api/runs`;
  return await new Promise((resolve, reject) => {
    const sent = request(address, { method: "POST", headers }, async (answer) => {
      let text = "";
      for await (const part of answer.setEncoding("utf8")) text += part;
      if (answer.statusCode === 201) resolve(JSON.parse(text) as CreatedRun);
      else reject(new Error(text));
    });
    sent.on("error", reject).end(body);
  });
}

/** The spans of a run, once the one of its last part has arrived. */
async function spansOf(receiver: OtlpReceiver, run: number, parts = 1): Promise<ReceivedSpan[]> {
  return await receiver.until((spans) => {
    const own = spans.filter(({ attributes }) => attributes["millrace.run.id"] === run);
    return own.filter(({ kind }) => kind === 5).length === parts ? own : undefined;
  });
}

const named = (spans: readonly ReceivedSpan[], name: string) => spans.find((span) => span.name === name) as ReceivedSpan;

t.test("a run continues the trace of its creator, and its requests continue that of the run", async (t) => {
  const { receiver, client, url, headers } = await served(t);
  const run = await create(client, "traced", { url }, SAMPLED);
  t.equal(run.traceparent, SAMPLED);
  await client.runs.waitFor(run.id);
  t.equal((await client.runs.get(run.id)).traceparent, SAMPLED, "the stored record has the header too");

  const spans = await spansOf(receiver, run.id);
  t.same(spans.map(({ name }) => name).sort(), ["after", "attempt 1", "flows/traced", "inner", "outer"]);
  t.ok(spans.every(({ traceId, status }) => traceId === TRACE && status.code === 0));
  const [part, attempt, outer, inner, after] = ["flows/traced", "attempt 1", "outer", "inner", "after"].map((name) =>
    named(spans, name),
  ) as [ReceivedSpan, ReceivedSpan, ReceivedSpan, ReceivedSpan, ReceivedSpan];
  t.same(
    [part, attempt, outer, after, inner].map(({ parentSpanId }) => parentSpanId),
    [SPAN, part.spanId, attempt.spanId, attempt.spanId, outer.spanId],
    "a task that a task calls is its child",
  );
  t.same(after.links, [{ traceId: TRACE, spanId: outer.spanId }], "a task links to the task runs whose results it was given");
  t.match(part.resource, { "service.name": "millrace", "service.instance.id": /^engine-/ });
  t.match(part.attributes, {
    "millrace.flow": "traced",
    "millrace.run.external_id": run.external_id,
    "millrace.state": "Completed",
  });
  t.match(outer.attributes, { "millrace.task.key": "outer-0", "millrace.state": "Completed" });
  for (const { startUs, endUs, name } of spans)
    t.ok(startUs >= part.startUs && startUs <= endUs && endUs <= part.endUs, `${name} lies within the run`);

  t.same(
    ["/flow", "/outer", "/inner"].map((path) => headers.get(path)),
    [attempt, outer, inner].map(({ spanId }) => `00-${TRACE}-${spanId}-01`),
    "requests by fetch and node:http carry the span of the code that sends them",
  );
});

t.test("attempts, failures, and code that ends its thread", async (t) => {
  const { receiver, client } = await served(t);
  const { id, external_id } = await create(client, "failing", {}, null);
  await client.runs.waitFor(id);
  const spans = await spansOf(receiver, id);
  t.ok(
    spans.every(({ traceId }) => traceId === external_id.replaceAll("-", "")),
    "the trace has the digits of the external id",
  );
  t.equal(named(spans, "flows/failing").parentSpanId, "");
  t.same(spans.map(({ name }) => name).sort(), ["attempt 1", "attempt 2", "broken", "broken", "flows/failing"]);
  t.ok(spans.every(({ status }) => status.code === 2 && status.message.includes("no such row")));
  t.match(named(spans, "broken").events.at(-1), {
    name: "exception",
    attributes: { "exception.type": "TypeError", "exception.stacktrace": /flows\.ts/ },
  });

  const dead = await create(client, "dies", {}, null);
  await client.runs.waitFor(dead.id);
  const left = await spansOf(receiver, dead.id);
  t.same(
    left.map(({ status }) => status.code),
    [2, 2],
  );
  t.match(named(left, "flows/dies").status.message, /process\.exit\(3\)/);
});

t.test(
  "children continue the trace; the part of a run after a park has a trace of its own, which links to the part before",
  async (t) => {
    const { receiver, client, url, headers } = await served(t);
    const run = await create(client, "calls", { url }, SAMPLED);
    await client.runs.waitFor(run.id);
    const { items } = await client.runs.list({ flow: "late" }).page();
    const [child] = items;
    const spans = await spansOf(receiver, run.id, 3);
    const ofChild = await spansOf(receiver, Number(child?.id));
    const [first, second, third] = spans.filter(({ kind }) => kind === 5) as [ReceivedSpan, ReceivedSpan, ReceivedSpan];
    t.same([first.traceId, first.attributes["millrace.state"]], [TRACE, "Parked"]);
    t.equal(third.attributes["millrace.state"], "Completed");
    t.equal(new Set([first, second, third].map(({ traceId }) => traceId)).size, 3);
    t.same(second.links, [{ traceId: TRACE, spanId: first.spanId }]);
    t.same(third.links, [{ traceId: second.traceId, spanId: second.spanId }]);

    const waits = spans.filter(({ attributes }) => "millrace.wait" in attributes);
    t.same(
      waits.map(({ traceId, attributes }) => [attributes["millrace.wait"], traceId]),
      [
        ["sleep", TRACE],
        ["child", TRACE],
        ["sleep", second.traceId],
      ],
      "each wait once, in the trace in which it began",
    );
    const slept = waits.at(-1) as ReceivedSpan;
    t.ok(slept.endUs - slept.startUs >= 2_000_000);

    const attempt = spans.find(({ name, traceId }) => name === "attempt 1" && traceId === TRACE) as ReceivedSpan;
    const called = named(ofChild, "flows/late");
    t.same([called.traceId, called.parentSpanId], [TRACE, attempt.spanId]);
    t.equal(headers.get("/late"), `00-${TRACE}-${named(ofChild, "attempt 1").spanId}-01`);
  },
);

t.test(
  "spans of the flow's own instrumentation are children of the run's, if its project has the API of OpenTelemetry",
  async (t) => {
    const { receiver, client } = await served(t);
    const { id } = await create(client, "instrumented", {}, SAMPLED);
    const { result } = await client.runs.waitFor(id);
    const spans = await spansOf(receiver, id);
    t.same(
      result,
      ["attempt 1", "active-span"].map((name) => named(spans, name).spanId),
    );
  },
);

t.test("a creator that is not sampled, and a ratio of 0: no span, and the header goes on unsampled", async (t) => {
  const { receiver, client, url, headers } = await served(t, "trace_sample_ratio = 0");
  const [unsampled, own, sampled, invalid] = await Promise.all([
    create(client, "called", { url: `${url}/1` }, UNSAMPLED),
    create(client, "called", { url: `${url}/2` }, null),
    create(client, "called", { url: `${url}/3` }, SAMPLED),
    create(client, "called", { url: `${url}/4` }, `00-${"0".repeat(32)}-${SPAN}-01`),
  ]);
  await Promise.all([unsampled, own, sampled, invalid].map(({ id }) => client.runs.waitFor(id)));
  t.equal(invalid.traceparent, undefined, "a header that is not valid is ignored");
  await spansOf(receiver, sampled.id);
  t.same(new Set(receiver.spans.map(({ attributes }) => attributes["millrace.run.id"])), new Set([sampled.id]));
  t.equal(headers.get("/1/called"), UNSAMPLED);
  t.match(headers.get("/2/called"), new RegExp(`^00-${own.external_id.replaceAll("-", "")}-[0-9a-f]{16}-00$`));
  t.match(headers.get("/3/called"), new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
});

t.test("a collector that hangs holds up nothing, and what it does not take is counted", async (t) => {
  const { receiver, client, url } = await served(t);
  receiver.mode = "hang";
  const [{ id: flow = 0 } = {}] = (await client.flows.list()).filter(({ name }) => name === "called");
  const runs = await client.runs.createMany(Array.from({ length: 3_000 }, () => ({ flow_id: flow, parameters: { url } })));
  const last = runs.at(-1)?.id ?? 0;
  await client.runs.waitFor(last);
  const counted = async (): Promise<number> => {
    const text = await (await fetch(`${await client.address()}/metrics`)).text();
    return Number(/millrace_spans_total\{outcome="dropped"\} (\d+)/.exec(text)?.[1]);
  };
  // Two spans for each run, of which some 4,000 wait for the collector.
  while ((await client.runs.counts()).states["Completed"] !== 3_000) await client.runs.waitFor(last - 1);
  const again = await client.flows.run(flow, { parameters: { url } });
  await client.runs.waitFor(again.id);
  t.ok((await counted()) > 1_000, `${await counted()} dropped`);
  t.same((await client.runs.counts()).states, { Completed: 3_001 });
});

t.test("addresses that are none are refused at the start", async (t) => {
  for (const [line, expected] of [
    ['otlp_endpoint = "collector:4318"', /\[server\] otlp_endpoint must be an address such as/],
    ["trace_sample_ratio = 2", /\[server\] trace_sample_ratio must be a number from 0 to 1, not 2/],
  ] as const) {
    await t.rejects(serveFlows(t, { "flows.ts": FLOWS, "millrace.toml": `[server]\n${line}\n` }), expected);
  }
});
