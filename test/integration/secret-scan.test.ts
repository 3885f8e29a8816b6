/** A secret is set and used in every possible way; then all output and files of the server are searched for its text. */
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t from "tap";
import { ROUTES } from "#protocol/routes/routes";
import { openText, parseKey } from "#protocol/values/sealed-text";
import { millrace } from "../support/command-line.ts";
import { ServedHome, type ServedProcess, until } from "../support/served-home.ts";
import { StreamClient } from "../support/stream-client.ts";

/** These texts occur nowhere else. The first is a secret; the second is shown on purpose, to prove that the scan works. */
const MARKER = "swordfish-7f3a9c51e2";
const SHOWN = "codfish-88d0b6a4c3";

const SECRET = { name: "team/key", value: { password: MARKER }, secret: true };
const PLACE = { project: "kit", flow: "f", module: "m.ts", source_dir: "/nowhere" };

/** All collected texts, by source. */
class Heard {
  readonly texts: [where: string, text: string][] = [];

  add(where: string, text: string): void {
    this.texts.push([where, text]);
  }

  with(text: string): string[] {
    // Texts may be escaped or encoded.
    const forms = [text, Buffer.from(text).toString("base64").slice(0, -4), Buffer.from(text).toString("hex")];
    return [...new Set(this.texts.filter(([, said]) => forms.some((form) => said.includes(form))).map(([where]) => where))];
  }
}

/** All files below a folder, as bytes. */
function filesBelow(folder: string): [string, string][] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return [path.slice(folder.length + 1), readFileSync(path, "latin1")];
  });
}

t.test("a secret is nowhere to be read but with its key", async (t) => {
  const heard = new Heard();
  const receiver = createServer(async (request, response) => {
    let text = `${request.url} ${JSON.stringify(request.headers)}`;
    for await (const piece of request) text += String(piece);
    heard.add("webhook", text);
    response.writeHead(500).end();
  }).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const home = new ServedHome();
  t.teardown(async () => {
    receiver.close();
    await home.remove();
  });
  const server = await home.serve();
  const stream = new StreamClient(Number(new URL(server.url).port));
  t.teardown(() => stream.socket.destroy());
  const webhook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;

  await useApi(server, heard);
  await useRules(server, heard, webhook);
  await useMcp(server, heard);
  await readEverything(server, heard);
  const sealed = (await say(server, heard, "GET", "/api/variables/team%2Fkey?raw=true")).body["raw"];
  const file = join(home.path, "copy.sqlite");
  for (const command of [["doctor"], ["status"], ["variables", "ls"], ["backup", file]]) {
    const { out, errors } = await millrace(...command, "--home", home.path);
    heard.add(`millrace ${command[0]}`, out + errors);
  }
  await stream.until(({ messages }) => messages.some(({ data }) => data["name"] === "kit.end"));
  heard.add("stream", JSON.stringify(stream.messages));
  heard.add("command line of the server", readFileSync(`/proc/${server.child.pid}/cmdline`, "latin1"));
  for (const [path, bytes] of filesBelow(home.path)) heard.add(`file ${path} while it runs`, bytes);
  await server.kill("SIGTERM");
  for (const [path, bytes] of filesBelow(home.path)) heard.add(`file ${path}`, bytes);
  heard.add("output", server.output);

  const places = heard.texts.map(([where]) => where);
  for (const where of ["webhook", "stream", "output", "file db.sqlite", "file copy.sqlite", "file server.log"])
    t.ok(places.includes(where), where);
  for (const where of ["stream", "file db.sqlite", "GET /api/variables", "GET /api/events", "mcp list_events", "webhook"])
    t.ok(heard.with(SHOWN).includes(where), `what is no secret is found in: ${where}`);
  t.same(heard.with(MARKER), []);
  const key = parseKey(readFileSync(join(home.path, "secret.key"), "utf8"));
  t.same(
    JSON.parse(openText(key ?? Buffer.alloc(0), String(sealed)) ?? "null"),
    MARKER,
    "its own key opens it, as it was set last",
  );
});

async function say(server: ServedProcess, heard: Heard, method: string, path: string, body?: unknown, headers = {}) {
  const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
  const sent = { method, headers: { "content-type": "application/json", ...headers }, body: text };
  const answer = await fetch(`${server.url}${path}`, sent);
  const received = await answer.text();
  heard.add(`${method} ${path}`, `${JSON.stringify([...answer.headers])}${received}`);
  const parsed: unknown = /json/.test(answer.headers.get("content-type") ?? "") && received !== "" ? JSON.parse(received) : {};
  return { status: answer.status, body: parsed as Record<string, unknown> };
}

/** Uses the variables API, including every kind of refused request. */
async function useApi(server: ServedProcess, heard: Heard): Promise<void> {
  const ask = (method: string, path: string, body?: unknown, headers = {}) => say(server, heard, method, path, body, headers);
  const statuses: number[] = [];
  const expect = async (status: number, ...args: Parameters<typeof ask>): Promise<void> => {
    statuses.push((await ask(...args)).status);
    if (statuses.at(-1) !== status) throw new Error(`${args[0]} ${args[1]}: ${statuses.at(-1)}, not ${status}`);
  };
  await expect(201, "POST", "/api/variables", { name: "plain", value: SHOWN });
  for (let times = 0; times < 2; times += 1) await expect(201, "POST", "/api/variables", SECRET, { "idempotency-key": "one" });
  await expect(409, "POST", "/api/variables", { ...SECRET, overwrite: false });
  await expect(422, "POST", "/api/variables", { ...SECRET, name: "NOT ALLOWED" });
  await expect(422, "POST", "/api/variables", { ...SECRET, secret: MARKER });
  await expect(422, "POST", "/api/variables", { ...SECRET, value: MARKER.repeat(5_000) });
  await expect(400, "POST", "/api/variables", `{"name":"x","value":"${MARKER}",,}`);
  await expect(415, "POST", "/api/variables", SECRET, { "content-type": "text/plain" });
  await expect(200, "PATCH", "/api/variables/team%2Fkey", { value: { password: MARKER, changed: true } });
  await expect(200, "PATCH", "/api/variables/team%2Fkey", { value: SECRET.value, tags: ["a"] });
  await expect(404, "PATCH", "/api/variables/nothing", { value: MARKER });
  await expect(201, "POST", "/api/variables", { ...SECRET, name: "gone" });
  await expect(204, "DELETE", "/api/variables/gone");
}

/** Rules that try to send the secret: templates cannot access variables, and their messages and errors are kept. */
async function useRules(server: ServedProcess, heard: Heard, url: string): Promise<void> {
  const bodies = ["{{ variable }}", "{{ variables['team/key'] }}", "{{ secrets }}", "{{ event.variables.key }}", "{{ payload }}"];
  const own = `${server.url}/api/variables/team%2Fkey?raw=true`;
  const rule = {
    name: "curious",
    when: { events: ["kit.use"] },
    do: [
      ...bodies.map((body) => ({ kind: "webhook", url, body })),
      { kind: "webhook", url, headers: { "x-key": "{{ variables.key }}" } },
      { kind: "webhook", url: own, method: "GET" },
      { kind: "webhook", url: `${server.url}/api/variables`, body: { name: "team/key", overwrite: false, value: 1 } },
    ],
  };
  const created = await say(server, heard, "POST", "/api/rules", rule);
  await say(server, heard, "POST", "/api/events", { name: "kit.use", payload: { shown: SHOWN } });
  const firings = `/api/rules/${created.body["id"]}/firings`;
  await until(async () => {
    const { list } = await server.call<{ outcomes: unknown[] }>("GET", firings);
    return list[0]?.outcomes.length === rule.do.length ? true : null;
  });
  await say(server, heard, "GET", firings);
  await say(server, heard, "POST", `/api/rules/${created.body["id"]}/test`);
}

async function useMcp(server: ServedProcess, heard: Heard): Promise<void> {
  const call = async (name: string, args: unknown): Promise<void> => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } };
    const answer = await fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    heard.add(`mcp ${name}`, await answer.text());
  };
  await call("get_variable", { name: "team/key", value: MARKER });
  await call("set_variable", { name: "team/key", value: { password: MARKER }, secret: true });
  await call("set_variable", { name: "team/key", value: MARKER, overwrite: "no" });
  await call("set_variable", { name: "team/key", value: MARKER });
  await call("set_variable", { name: "NOT ALLOWED", value: MARKER, secret: true });
  await call("list_events", {});
}

/** Reads every GET address, with an existing run and rule. */
async function readEverything(server: ServedProcess, heard: Heard): Promise<void> {
  await say(server, heard, "POST", "/api/runs", PLACE);
  await say(server, heard, "POST", "/api/events", { name: "kit.end" });
  for (const { method, path } of ROUTES) {
    if (method !== "GET" || path === "/api/stream") continue;
    await say(server, heard, "GET", path.replace("{name}", "team%2Fkey").replaceAll(/\{\w+\}/g, "1"));
  }
}
