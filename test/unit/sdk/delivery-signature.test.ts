/** Signatures of incoming hooks: examples of the senders' documentation, and deliveries that are not what was signed. */
import { createHmac, randomBytes } from "node:crypto";
import t from "tap";
import {
  type Delivery,
  DeliveryRejection,
  type Verification,
  type VerifiedDelivery,
  verifyDelivery,
} from "#sdk/define/routes/delivery-signature";
import { SeededRandom } from "../../load/random.ts";

const NOW_S = 1_700_000_000;

function delivery(body: string, headers: Record<string, string>): Delivery {
  return { body: Buffer.from(body), headers: new Headers(headers) };
}

/** The verified delivery, or why it is rejected. */
function outcome(how: Verification, given: Delivery, secret: string, nowS = NOW_S): VerifiedDelivery | string {
  try {
    return verifyDelivery(how, given, [secret], nowS);
  } catch (error) {
    if (error instanceof DeliveryRejection) return error.message;
    throw error;
  }
}

const hex = (secret: string, text: string, algorithm = "sha256") => createHmac(algorithm, secret).update(text).digest("hex");

t.test("the examples of the senders' documentation are accepted", async (t) => {
  const github = delivery("Hello, World!", {
    "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    "x-github-delivery": "d-1",
  });
  t.match(outcome("github", github, "It's a Secret to Everybody"), { id: "d-1", identity: /^[0-9a-f]{64}$/ });
  const command =
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar" +
    "&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com" +
    "%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
  const slack = delivery(command, {
    "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    "x-slack-request-timestamp": "1531420618",
  });
  t.match(outcome("slack", slack, "8f742231b10e8888abcd99yyyzzz85a5", 1_531_420_700), { identity: /^[0-9a-f]{64}$/ });
  const standard = delivery('{"test": 2432232314}', {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v2,x v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  t.match(outcome("standard", standard, secret, 1_614_265_340), { identity: "msg_p5jXN8AQM9LWM0D4loKWxJek" });
});

t.test("a repeated delivery of Stripe or Slack has the identity of the first, whatever its time", async (t) => {
  const stripe = (time: number, body: string) =>
    delivery(body, { "stripe-signature": `t=${time},v1=00,v1=${hex("s", `${time}.${body}`)},v0=x` });
  const first = outcome("stripe", stripe(NOW_S - 299, '{"id":"evt_1","pending_webhooks":1}'), "s");
  t.same(first, { id: "evt_1", identity: "evt_1" });
  t.same(outcome("stripe", stripe(NOW_S, '{"id":"evt_1","pending_webhooks":0}'), "s"), first);
  const slack = (time: number, body: string) =>
    delivery(body, {
      "x-slack-signature": `v0=${hex("s", `v0:${time}:${body}`)}`,
      "x-slack-request-timestamp": String(time),
    });
  t.same(outcome("slack", slack(NOW_S, '{"event_id":"Ev1"}'), "s"), { id: "Ev1", identity: "Ev1" });
  t.same(outcome("slack", slack(NOW_S, "a=1"), "s"), outcome("slack", slack(NOW_S - 9, "a=1"), "s"));
});

t.test("other senders: algorithm, encoding, prefix, time and id by options", async (t) => {
  const signed = createHmac("sha512", "s").update(`${NOW_S}.body`).digest("base64");
  const how = { header: "X-Sig", algorithm: "sha512", encoding: "base64", prefix: "v=", timestamp: "x-at", id: "x-id" } as const;
  const given = delivery("body", { "x-sig": `v=${signed}`, "x-at": String(NOW_S), "x-id": "7" });
  t.match(outcome(how, given, "s"), { id: "7", identity: /^[0-9a-f]{64}$/ });
  t.match(outcome(how, given, "s", NOW_S + 301), /signed more than 5 minutes ago/);
  t.equal(outcome(how, delivery("body", { "x-at": "1" }), "s"), "x-sig is missing");
  t.equal(outcome(how, delivery("body", { "x-sig": signed, "x-at": "1" }), "s"), "X-Sig does not begin with v=");
  t.equal(verifyDelivery(how, given, ["old", "s"], NOW_S).id, "7", "one of two secrets while they are exchanged");
});

/** A valid delivery for each way to sign. */
function signedBy(how: Verification, secret: string, body: string, time: number): Delivery {
  const key = Buffer.from(secret, "base64");
  const ofStandard = createHmac("sha256", key).update(`m1.${time}.${body}`).digest("base64");
  if (how === "github") return delivery(body, { "x-hub-signature-256": `sha256=${hex(secret, body)}` });
  if (how === "stripe") return delivery(body, { "stripe-signature": `t=${time},v1=${hex(secret, `${time}.${body}`)}` });
  if (how === "standard")
    return delivery(body, {
      ...{ "webhook-id": "m1", "webhook-timestamp": String(time), "webhook-signature": `v1,${ofStandard}` },
    });
  const headers = { "x-slack-signature": `v0=${hex(secret, `v0:${time}:${body}`)}`, "x-slack-request-timestamp": String(time) };
  return delivery(body, headers);
}

t.test("10,000 forged, changed or late deliveries are rejected, and their originals accepted", async (t) => {
  const kinds = ["github", "stripe", "slack", "standard"] as const;
  let accepted = 0;
  const wrong: string[] = [];
  for (let seed = 0; seed < 10_000; seed++) {
    const random = new SeededRandom(seed);
    const how = kinds[seed % kinds.length] ?? "github";
    const secret = randomBytes(24).toString("base64");
    const body = JSON.stringify({ seed, text: random.below(1_000_000) });
    const original = signedBy(how, secret, body, NOW_S);
    if (typeof outcome(how, original, secret) !== "string") accepted += 1;
    const forged = forgery(how, secret, body, original, random.below(6), random);
    if (typeof outcome(how, forged, secret) !== "string") wrong.push(`${seed} ${how}`);
  }
  t.equal(accepted, 10_000);
  t.same(wrong, []);
});

function forgery(
  how: Verification,
  secret: string,
  body: string,
  original: Delivery,
  kind: number,
  random: SeededRandom,
): Delivery {
  switch (kind) {
    case 0:
      return delivery(body, {});
    case 1:
      return signedBy(how, `${secret}x`.slice(1), body, NOW_S);
    case 2:
      return { headers: original.headers, body: Buffer.from(`${body} `) };
    case 3: {
      // One bit of the body.
      const changed = Buffer.from(body);
      const at = random.below(changed.length);
      changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
      return { headers: original.headers, body: changed };
    }
    case 4: {
      // One character of each header.
      const headers = [...original.headers].map(([name, value]): [string, string] => {
        const at = random.below(value.length);
        return [name, `${value.slice(0, at)}${value[at] === "0" ? "1" : "0"}${value.slice(at + 1)}`];
      });
      return { headers: new Headers(headers), body: original.body };
    }
    default:
      // Too late or too early; GitHub signs no time, so its delivery is forged instead.
      return how === "github"
        ? delivery(body, { "x-hub-signature-256": `sha256=${hex("other", body)}` })
        : signedBy(how, secret, body, NOW_S + (random.below(2) === 0 ? -301 : 301) * (1 + random.below(1000)));
  }
}
