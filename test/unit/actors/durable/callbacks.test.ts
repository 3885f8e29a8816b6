/** Callbacks: a wait that a request without a token of the server settles, once. */
import t from "tap";
import { callbackTokenHash } from "#protocol/values/callback-token";
import { operations } from "../../../support/decision-record.ts";
import type { DispatchKit, Outcome } from "../../../support/dispatch-kit.ts";
import { arm, type HeldRun, identityOf, moveOf, parkOf, send, startDurable, takeRun } from "../../../support/durable-steps.ts";
import { storedKit } from "../../../support/stored-kit.ts";

const SECOND_US = 1_000_000;

/** The path of the first wait of an answer, and the token in it. */
function urlOf({ reply }: Outcome): string {
  const waits = (reply?.body["waits"] ?? []) as { url: string }[];
  return waits[0]?.url ?? "";
}

function call(kit: DispatchKit, url: string, body: unknown = { ok: true }): Outcome {
  return kit.send("AnswerCallback", { targetName: url.replace("/api/callbacks/", ""), body });
}

/** A run parked on a callback, and its URL. */
function waiting(kit: DispatchKit, wish: Record<string, unknown> = {}): { held: HeldRun; url: string } {
  const held = startDurable(kit);
  const url = urlOf(arm(kit, held, [{ wait: 1, kind: "callback", ...wish }]));
  t.match(send(kit, held, [parkOf(kit, 3, [1])]).reply?.body, { run_state: { name: "AwaitingEvent" } });
  return { held, url };
}

t.test("a callback is armed with the hash of its token, and has the same URL whenever it is armed", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  const armed = arm(kit, held, [{ wait: 1, kind: "callback", timeout: 60 }]);
  const token = `signed-callback-${held.id}-${identityOf(1)}`;
  t.match(armed.reply, { status: 200, body: { waits: [{ kind: "callback", url: `/api/callbacks/${token}`, outcome: null }] } });
  t.match(operations(armed, "put_wait"), [{ token_hash: callbackTokenHash(token) }]);
  t.notMatch(JSON.stringify(armed.ops), token, "the store has the hash alone");
  t.equal(urlOf(arm(kit, held, [{ wait: 1, kind: "callback" }])), `/api/callbacks/${token}`);
  t.not(urlOf(arm(kit, held, [{ wait: 2, kind: "callback" }])), `/api/callbacks/${token}`);
});

t.test("its first request settles it with the body and wakes the run; every later one is as if it had never been", async (t) => {
  const { kit } = storedKit();
  const { held, url } = waiting(kit);
  const taken = call(kit, url, '{"order":12345678901234567890,"by":null}');
  t.match(taken.reply, { status: 200, body: { ok: true } });
  const outcome = '{"kind":"answered","value":{"order":12345678901234567890,"by":null}}';
  t.match(operations(taken, "settle_wait"), [{ outcome }], "with the digits of a large integer");
  t.equal(kit.run(held.id).state.name, "Resuming");
  const unknown = call(kit, "/api/callbacks/guessed").reply;
  t.match(unknown, { status: 404 });
  t.strictSame(call(kit, url).reply?.body, unknown?.body);
  const next = takeRun(kit, "e2");
  t.equal(urlOf(arm(kit, next, [{ wait: 1, kind: "callback" }])), url, "the flow that goes on has the URL that was used");
});

t.test("null and text are answers; a body that is no JSON settles nothing", async (t) => {
  const { kit } = storedKit();
  const { url } = waiting(kit);
  t.equal(call(kit, url, "{").reply?.status, 400);
  t.match(operations(call(kit, url, "null"), "settle_wait"), [{ outcome: '{"kind":"answered","value":null}' }]);
});

t.test("a callback ends with its timeout, with its run, and with its lineage", async (t) => {
  const { kit } = storedKit();
  const late = waiting(kit, { timeout: 60 });
  t.match(operations(kit.pass(61 * SECOND_US), "settle_wait"), [{ outcome: '{"kind":"timed_out"}' }]);
  t.equal(call(kit, late.url).reply?.status, 404);
  send(kit, takeRun(kit), [moveOf(kit, 3, "Completed")]);
  const cancelled = waiting(kit);
  kit.send("CancelRun", { target: cancelled.held.id });
  t.equal(call(kit, cancelled.url).reply?.status, 404);
  const deleted = waiting(kit);
  kit.send("DeleteRun", { target: deleted.held.id });
  t.equal(call(kit, deleted.url).reply?.status, 404);
});

t.test("a callback that is called while its run is with the engine is found by the park", async (t) => {
  const { kit } = storedKit();
  const held = startDurable(kit);
  const url = urlOf(arm(kit, held, [{ wait: 1, kind: "callback" }]));
  t.equal(call(kit, url).reply?.status, 200);
  t.match(send(kit, held, [parkOf(kit, 3, [1])]).reply?.body, { run_state: { name: "Resuming" } });
});

t.test("without a key no callback is armed", async (t) => {
  const { kit } = storedKit({ secrets: { sign: () => null } });
  const armed = arm(kit, startDurable(kit), [{ wait: 1, kind: "callback" }]);
  t.match(armed.reply, { status: 422, body: { error: /secret\.key/ } });
  t.strictSame(operations(armed, "put_wait"), []);
});
