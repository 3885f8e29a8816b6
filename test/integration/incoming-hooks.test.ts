/** Incoming hooks on a real server: the example of the guide, with deliveries that GitHub did not send. */
import { createHmac, randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { until } from "../support/called-code.ts";
import { serveWithEngines } from "../support/command-line.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/reactions", import.meta.url));
const SECRET = "It's a Secret to Everybody";
const TOKEN = "a-token-that-the-sender-lacks";
const FORGERIES = 10_000;
/** Fewer than the server lets wait for a hook. */
const SENDERS = 100;
const agent = new Agent({ keepAlive: true, maxSockets: SENDERS });

const signed = (body: string, secret = SECRET) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/** POSTs by the public name of the server, which `fetch` cannot do. */
async function deliver(url: string, body: string, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  return await new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const options = { hostname, port, path: "/in/github", method: "POST", agent };
    const all = { host: "flows.example.com", "content-type": "application/json", "x-github-event": "push", ...headers };
    const sent = request({ ...options, headers: all }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.on("error", reject).end(body);
  });
}

t.test("a signed delivery starts one run however often it is sent, and a forged one starts none", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "millrace-hooks-"));
  t.teardown(() => rmSync(home, { recursive: true, force: true }));
  const { url, errors } = await serveWithEngines(t, EXAMPLES, home, "--token", TOKEN);
  const client = new Millrace({ home, token: TOKEN });
  const push = (commit: string) => JSON.stringify({ ref: "refs/heads/main", after: commit });
  const runs = async () => (await client.runs.list().page()).items;

  const unset = await deliver(url, push("a0"), { "x-hub-signature-256": signed(push("a0")) });
  t.match(unset, { status: 500, text: /set it: millrace variables set github-secret --secret/ });
  await client.variables.set({ name: "github-secret", value: SECRET, secret: true });

  const first = await deliver(url, push("a1"), { "x-hub-signature-256": signed(push("a1")), "x-github-delivery": randomUUID() });
  t.equal(first.status, 202);
  const run = JSON.parse(first.text) as { run: number };
  const again = () => deliver(url, push("a1"), { "x-hub-signature-256": signed(push("a1")), "x-github-delivery": randomUUID() });
  t.same(await Promise.all([again(), again(), again()]), Array(3).fill(first), "repeats, by whatever id, get the first run");

  const forgery = async (index: number): Promise<number> => {
    const body = push(`f${index}`);
    const headers: Record<string, string>[] = [
      {},
      { "x-hub-signature-256": signed(body, "guessed") },
      { "x-hub-signature-256": signed(push("a1")) },
      { "x-hub-signature-256": `sha256=${"0".repeat(64)}`, authorization: `Bearer ${TOKEN}` },
    ];
    return (await deliver(url, body, headers[index % headers.length] ?? {})).status;
  };
  const forged: number[] = [];
  const sender = async (first: number): Promise<void> => {
    for (let index = first; index < FORGERIES; index += SENDERS) forged.push(await forgery(index));
  };
  await Promise.all(Array.from({ length: SENDERS }, (_, first) => sender(first)));
  t.equal(forged.length, FORGERIES);
  t.same(new Set(forged), new Set([401]));
  const ended = await until(async () => (await runs()).find(({ state }) => state.type === "Completed"));
  t.match(ended, { id: run.run, parameters: { ref: "refs/heads/main", commit: "a1" } });
  t.equal((await runs()).length, 1);
  t.notMatch(errors(), SECRET);
  agent.destroy();
});
