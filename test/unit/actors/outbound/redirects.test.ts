/** Redirects of webhooks. An in-memory dispatcher answers, so no connection is opened. */
import t from "tap";
import { MockAgent } from "undici";
import { Targets } from "#actors/outbound/target";
import { sendWebhook } from "#actors/outbound/webhook";

interface Received {
  origin: string;
  method: string;
  headers: Record<string, string>;
}

/** Redirects every request from `from` to `to`; answers 200 for other requests. */
function redirecting(status: number, from: string, to: string): { agent: MockAgent; received: Received[] } {
  const agent = new MockAgent();
  agent.disableNetConnect();
  const received: Received[] = [];
  const note = (origin: string) => (request: { method: string; headers: unknown }) => {
    received.push({ origin, method: request.method, headers: { ...(request.headers as Record<string, string>) } });
    return "";
  };
  const first = new URL(from);
  const target = new URL(to);
  const everything = { path: () => true, method: () => true } as const;
  agent
    .get(first.origin)
    .intercept(everything)
    .reply(status, note(first.origin), { headers: { location: to } });
  agent.get(target.origin).intercept(everything).reply(200, note(target.origin));
  return { agent, received };
}

const HEADERS = {
  authorization: "Bearer secret",
  cookie: "secret",
  host: "first.example",
  "x-api-key": "secret",
  "x-gitlab-token": "secret",
  "content-type": "application/json",
  "idempotency-key": "key",
  "millrace-rule-depth": "2",
};
const never = new AbortController().signal;

t.test("a redirect to another origin takes along only what is no secret of the first one", async (t) => {
  const { agent, received } = redirecting(307, "http://93.184.216.34/a", "http://93.184.216.35/b");
  const sent = { url: "http://93.184.216.34/a", method: "POST", headers: HEADERS, body: "{}" };
  t.match(await sendWebhook(agent, new Targets(), sent, never), { detail: { status: 200 } });
  t.match(received[0], { origin: "http://93.184.216.34", headers: { "x-api-key": "secret", host: "first.example" } });
  t.equal(received[1]?.origin, "http://93.184.216.35");
  t.same(Object.keys(received[1]?.headers ?? {}).sort(), ["content-type", "idempotency-key", "millrace-rule-depth"]);
});

t.test("a redirect within an origin takes all of them along", async (t) => {
  const { agent, received } = redirecting(307, "http://93.184.216.34/a", "http://93.184.216.34/b");
  const sent = { url: "http://93.184.216.34/a", method: "POST", headers: HEADERS, body: "{}" };
  t.match(await sendWebhook(agent, new Targets(), sent, never), { detail: { status: 200 } });
  t.equal(received.length, 2);
  t.match(received[1]?.headers, HEADERS);
});

t.test("a redirect to an address that is not allowed is not followed", async (t) => {
  for (const address of ["168.63.129.16", "169.254.169.254", "[64:ff9b:1::1]", "[::ffff:7f00:1]", "[2001:0:1::1]"]) {
    const { agent, received } = redirecting(302, "http://93.184.216.34/a", `http://${address}/b`);
    const sent = { url: "http://93.184.216.34/a", method: "POST", headers: {}, body: "{}" };
    t.match(
      await sendWebhook(agent, new Targets(), sent, never),
      { error: /^webhook refused: address .* is not allowed$/ },
      address,
    );
    t.equal(received.length, 1, address);
  }
});
