/** Mails of rules, sent to a real mail server on loopback. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import t, { type Test } from "tap";
import { createDelivery } from "#actors/outbound/delivery";
import type { MailSettings } from "#actors/outbound/email";
import type { EmailRequest, OutboundDone } from "#actors/rule-engine/rule-messages";

const PASSWORD = "hush-marker-42";
const NEVER = new AbortController().signal;

interface Received {
  from: string;
  to: string[];
  raw: string;
}

/** A mail server that keeps accepted mail; `options` decide what it refuses. */
async function mailServer(t: Test, options: SMTPServerOptions = {}): Promise<{ settings: MailSettings; received: Received[] }> {
  const received: Received[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: (stream, session, done) => {
      void text(stream).then((raw) => {
        const { mailFrom, rcptTo } = session.envelope;
        received.push({ from: mailFrom === false ? "" : mailFrom.address, to: rcptTo.map(({ address }) => address), raw });
        done();
      });
    },
    ...options,
  });
  // A client that disconnects within a conversation is an error to the server.
  server.on("error", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  const settings = { host: "127.0.0.1", port, tls: false, username: null, password: null, from: "Rules <rules@example.org>" };
  return { settings, received };
}

function mail(fields: Partial<EmailRequest> = {}): EmailRequest {
  const message = { to: ["ada@example.com"], subject: "Run failed", text: "It failed.", message_id: "id-1" };
  return { kind: "EmailRequest", id: 1, firing_id: 1, ...message, ...fields };
}

async function send(t: Test, settings: MailSettings, request: EmailRequest): Promise<OutboundDone["result"]> {
  const delivery = createDelivery(settings);
  t.teardown(() => delivery.close());
  return delivery.deliver(request, NEVER);
}

function refusal(status: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode: status });
}

t.test("a mail arrives as it was written, and the outcome names who was taken", async (t) => {
  const { settings, received } = await mailServer(t);
  const result = await send(t, settings, mail({ to: ["ada@example.com", "Grace <grace@example.com>"], text: "Zeile äöü\nzwei" }));
  t.same(result, { detail: { accepted: ["ada@example.com", "grace@example.com"], rejected: [], attempts: 1 } });
  const [one] = received;
  t.match(one, { from: "rules@example.org", to: ["ada@example.com", "grace@example.com"] });
  t.match(one?.raw, /^Subject: Run failed\r$/m);
  t.match(one?.raw, /^Message-ID: <id-1@example\.org>\r$/m);
  t.match(one?.raw, /^Auto-Submitted: auto-generated\r$/m);
});

t.test("the mail server says later: tried again under the same id, three times in all", async (t) => {
  let refusals = 2;
  const onMailFrom: SMTPServerOptions["onMailFrom"] = (_address, _session, done) => {
    refusals -= 1;
    done(refusals >= 0 ? refusal(451, "try later") : null);
  };
  const { settings, received } = await mailServer(t, { onMailFrom });
  t.match(await send(t, settings, mail()), { detail: { attempts: 3 } });
  t.match(received, [{ raw: /Message-ID: <id-1@example\.org>/ }]);
  refusals = Number.POSITIVE_INFINITY;
  t.match(await send(t, settings, mail()), { error: /^email failed after 3 attempts: .*try later/ });
});

t.test("the mail server says no: not tried again; one recipient of several that is refused is named", async (t) => {
  let asked = 0;
  const onRcptTo: SMTPServerOptions["onRcptTo"] = ({ address }, _session, done) => {
    asked += 1;
    done(address.startsWith("unknown") ? refusal(550, "no such user") : null);
  };
  const { settings, received } = await mailServer(t, { onRcptTo });
  t.match(await send(t, settings, mail({ to: ["unknown@example.com"] })), { error: /^email refused: .*no such user/ });
  t.equal(asked, 1);
  t.same(await send(t, settings, mail({ to: ["unknown@example.com", "ada@example.com"] })), {
    detail: { accepted: ["ada@example.com"], rejected: ["unknown@example.com"], attempts: 1 },
  });
  t.equal(received.length, 1);
});

t.test("a password is in no error, also when the mail server repeats it", async (t) => {
  const encoded = Buffer.from(PASSWORD).toString("base64");
  const plain = Buffer.from(`\0rules\0${PASSWORD}`).toString("base64");
  const onAuth: SMTPServerOptions["onAuth"] = ({ password }, _session, done) =>
    done(refusal(535, `${password} (${encoded}, ${plain}) is wrong`));
  const { settings } = await mailServer(t, { authOptional: false, allowInsecureAuth: true, onAuth });
  const result = await send(t, { ...settings, username: "rules", password: PASSWORD }, mail());
  t.match(result, { error: /^email refused: .*\*{8} \(\*{8}, \*{8}\) is wrong/ });
  for (const secret of [PASSWORD, encoded, plain]) t.notMatch(JSON.stringify(result), secret);
});

t.test("where TLS is asked for, nothing is sent without it, nor to a server that cannot be trusted", async (t) => {
  const without = await mailServer(t);
  t.match(await send(t, { ...without.settings, tls: true }, mail()), { error: /^email refused: .*STARTTLS/ });
  const selfSigned = await mailServer(t, { disabledCommands: [] });
  t.match(await send(t, { ...selfSigned.settings, tls: true }, mail()), {
    error: /^email failed after 3 attempts: .*certificate/i,
  });
  t.same([...without.received, ...selfSigned.received], []);
});

t.test("whatever was filled into a subject adds no headers", async (t) => {
  const { settings, received } = await mailServer(t);
  await send(t, settings, mail({ subject: "a\r\nBcc: eve@example.com\r\n\r\nbody" }));
  t.notMatch(received[0]?.raw, /^Bcc:/m);
  t.same(received[0]?.to, ["ada@example.com"]);
});

t.test("without a mail server in the configuration, and without one that answers, the action fails", async (t) => {
  const delivery = createDelivery(null);
  t.teardown(() => delivery.close());
  t.same(await delivery.deliver(mail(), NEVER), { error: "email is not configured" });
  const { settings } = await mailServer(t);
  t.match(await send(t, { ...settings, port: 1 }, mail()), { error: /^email failed after 3 attempts: .*ECONNREFUSED/ });
});
