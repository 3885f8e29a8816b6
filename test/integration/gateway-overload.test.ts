/** More large bodies than can be decided soon: the excess is refused early, and small requests are unaffected. */
import { request } from "node:http";
import t, { type Test } from "tap";
import { LARGE_BODIES_BYTES_MAX } from "#protocol/limits";
import { StubServer } from "../support/gateway-stub.ts";

const LARGE = 1024 * 1024;
const CREATE = { flow: "f", project: "p", module: "m", source_dir: "/d" };

interface Outcome {
  /** 0: the connection was cut. */
  status: number;
  retryAfter: string | undefined;
  ms: number;
}

function post(t: Test, server: StubServer, path: string, body: object, filling: number): Promise<Outcome> {
  const text = JSON.stringify({ ...body, message: "a".repeat(filling) });
  const beginMs = performance.now();
  return new Promise((resolve) => {
    const headers = { "content-type": "application/json", "content-length": text.length };
    const sent = request({ port: server.port, path, method: "POST", headers, agent: false }, (answer) => {
      answer.resume();
      resolve({
        status: answer.statusCode ?? 0,
        retryAfter: answer.headers["retry-after"],
        ms: performance.now() - beginMs,
      });
    });
    t.teardown(() => sent.destroy());
    sent.on("error", () => resolve({ status: 0, retryAfter: undefined, ms: performance.now() - beginMs }));
    sent.end(text);
  });
}

t.test("large bodies beyond what is decided soon are refused, transitions cut, small requests taken", async (t) => {
  const server = await new StubServer({
    decide: ({ kind }) => (kind === "CancelRun" ? { status: 200, body: {} } : null),
  }).start();
  t.teardown(() => server.stop());
  const held = LARGE_BODIES_BYTES_MAX / LARGE;
  for (let index = 0; index < held; index += 1) {
    void post(t, server, "/api/runs", CREATE, LARGE);
    await server.until(() => server.commands.length === index + 1);
  }
  for (const path of ["/api/runs", "/api/engine/report", "/mcp"]) {
    t.match(await post(t, server, path, CREATE, LARGE), { status: 503, retryAfter: "1" }, path);
  }
  const transition = { type: "Running", timestamp: 1 };
  const cut = await post(t, server, "/api/runs/1/transition", transition, LARGE);
  t.equal(cut.status, 0, "an engine gives up a run after a refusal, and repeats a transition that was cut");
  t.ok(cut.ms < 10_000);
  void post(t, server, "/api/runs/1/transition", transition, 0);
  await server.until(() => server.commands.at(-1)?.kind === "TransitionRun");
  t.equal((await server.send("POST", "/api/runs/1/cancel")).status, 200);
  t.equal((await server.send("GET", "/api/health")).status, 200);
  t.same(server.defects, []);
});
