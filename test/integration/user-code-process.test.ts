/** The user-code process: whatever user code does, calls get an outcome and later calls are served. */
import { setTimeout as pause } from "node:timers/promises";
import t from "tap";
import type { RouteCall } from "#actors/user-code/user-code-calls";
import { keep } from "../support/kept-code.ts";

const CODE = `
  import { route, rule } from "millrace";
  export const echo = rule("echo", {}, (event, run) => ({ event, run }));
  export const nothing = rule("nothing", {}, () => undefined);
  export const throws = rule("throws", {}, () => { throw new RangeError("too far"); });
  export const text = rule("text", {}, () => { throw "plain text"; });
  export const endless = rule("endless", {}, () => new Promise(() => {}));
  export const told = rule("told", {}, async (event, run, { signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    console.log("was told");
  });
  export const loops = rule("loops", {}, () => { for (;;); });
  export const exits = rule("exits", {}, () => process.exit(7));
  export const later = rule("later", {}, () => { setTimeout(() => { throw new Error("thrown from a timer"); }); return new Promise(() => {}); });
  export const eats = rule("eats", {}, () => { const all = []; for (;;) all.push(new Array(1e6).fill(Math.random())); });
  export const bigint = rule("bigint", {}, () => 1n);
  export const nonsense = rule("nonsense", {}, () => () => 1);
  export const long = rule("long", {}, () => "x".repeat(100_000));
  export const pid = rule("pid", {}, () => process.pid);
  export const hidden = rule("hidden", {}, () => typeof process.send);
  export const big = route("GET", "/big", () => new Response(new Uint8Array(9 * 1024 * 1024)));
  export const bytes = route("POST", "/bytes/{n}", async (request, { params }) =>
    new Response(await request.arrayBuffer(), { status: 201, headers: { "x-n": params.n, "x-sent": request.headers.get("x-a") } }));
`;

const FILES = { "code.ts": CODE };

function routeCall(method: "GET" | "POST", path: string, more: Partial<RouteCall> = {}): RouteCall {
  const request = { method, url: `http://h${path}`, params: {}, headers: [], body: null };
  return { type: "route", module: "code.ts", declared: { method, path }, ...request, ...more };
}

t.test("calls of a process that lives", async (t) => {
  const { keeper, call, lines, printed } = await keep(t, FILES);

  t.test("a function's result, whatever it throws, and what is no result", async (t) => {
    t.same(await call("echo"), { type: "rule", detail: { event: { id: 1 }, run: null } });
    t.same(await call("nothing"), { type: "rule", detail: null });
    t.same(await call("throws"), { type: "failed", error: "RangeError: too far" });
    t.match(await call("text"), { type: "failed", error: /plain text/ });
    t.match(await call("bigint"), { type: "failed", error: /TypeError/ });
    t.match(await call("nonsense"), { type: "failed", error: /a value that is JSON, not a function/ });
    t.same(await call("long"), { type: "rule", detail: { result_bytes: 100_002 } });
    t.same(await call("hidden"), { type: "rule", detail: "undefined" }, "the way to the server is not user code's");
    t.match(await call("missing"), { type: "failed", error: 'module code.ts does not export rule "missing" any more' });
  });

  t.test("a call that never ends has its time; it is told, and the process serves on", async (t) => {
    const { detail: pid } = (await call("pid")) as { detail: number };
    t.same(await Promise.all([call("endless", 50), call("told", 50)]), [{ type: "timed out" }, { type: "timed out" }]);
    t.same(await call("pid"), { type: "rule", detail: pid }, "the same process");
    while (!printed.join("").includes("was told")) await pause(10);
    t.same(lines, []);
  });

  t.test("a route has bytes in and out, and an answer that is too long is none", async (t) => {
    const { signal } = new AbortController();
    const body = new Uint8Array([0, 255, 128]);
    const headers = ["x-a", "1", "host", "h", "content-length", "3"];
    const outcome = await keeper.call(routeCall("POST", "/bytes/{n}", { params: { n: "5" }, headers, body }), 60_000, signal);
    t.match(outcome, { type: "route", response: { status: 201, headers: ["x-n", "5", "x-sent", "1"] } });
    t.same(outcome.type === "route" && new Uint8Array(outcome.response.body ?? []), body);
    t.match(await keeper.call(routeCall("GET", "/big"), 60_000, signal), { type: "failed", error: /at most 8388608 bytes/ });
  });
});

t.test("a process that ends", async (t) => {
  const { keeper, call, lines } = await keep(t, FILES);

  for (const [name, cause] of [
    ["exits", "it ended with code 7"],
    ["later", "it ended with code 1"],
  ] as const) {
    t.test(`user code ends it (${name}): every call has the cause, and another process serves`, async (t) => {
      const beside = call("endless");
      t.same(await call(name), { type: "ended", cause });
      t.same(await beside, { type: "ended", cause });
      t.match(await call("pid"), { type: "rule" });
      t.same(lines.splice(0), [`the process of user code is started again: ${cause}`]);
    });
  }

  t.test("it is killed during a call", async (t) => {
    const { detail: pid } = (await call("pid")) as { detail: number };
    const under = call("endless");
    process.kill(pid, "SIGKILL");
    t.same(await under, { type: "ended", cause: "it was ended by SIGKILL" });
    t.match(await call("pid"), { type: "rule" });
  });

  t.test("a request whose client leaves while another process starts is given up", async (t) => {
    await call("exits");
    const left = new AbortController();
    const outcome = keeper.call(routeCall("GET", "/big"), 60_000, left.signal);
    left.abort();
    t.same(await outcome, { type: "timed out" });
  });
});

t.test("a loop has its time; then its process is ended, and another one serves", async (t) => {
  const { call, lines } = await keep(t, FILES, 512, 1_000);
  const { detail: pid } = (await call("pid")) as { detail: number };
  const looping = call("loops", 100);
  const beside = call("endless");
  t.same(await looping, { type: "timed out" });
  t.same(await beside, { type: "ended", cause: "user code did not let go of it for 1 s" });
  t.not(((await call("pid")) as { detail: number }).detail, pid);
  t.same(lines, ["the process of user code is started again: user code did not let go of it for 1 s"]);
});

t.test("memory is bounded by the heap of the process", async (t) => {
  const { call, lines } = await keep(t, FILES, 64);
  t.same(await call("eats"), { type: "ended", cause: "its heap of 64 MB was full" });
  t.match(await call("pid"), { type: "rule" });
  t.equal(lines.length, 1);
});
