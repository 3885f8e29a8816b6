import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { McpTool } from "#protocol/mcp/mcp-tool";
import { MCP_TOOLS } from "#protocol/mcp/mcp-tools";
import { secretKeySource } from "#protocol/values/secret-key";
import { SecretBox } from "#storage/home/secret-box";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { keyFile } from "../../../support/key-file.ts";

t.test("a sealed text opens again, and not after any bit of it changed", async (t) => {
  const path = join(t.testdir(), "secret.key");
  const box = new SecretBox(keyFile(path));
  t.equal(box.present, false);
  const sealed = box.seal('"hunter2"');
  t.match(sealed, /^v1:/);
  t.notMatch(sealed, /hunter2/);
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.equal(Buffer.from(readFileSync(path, "utf8"), "base64").length, 32);
  t.equal(new SecretBox(keyFile(path)).open(sealed), '"hunter2"');
  t.not(box.seal('"hunter2"'), sealed, "each has a nonce of its own");
  const bytes = Buffer.from(sealed.slice(3), "base64");
  for (let bit = 0; bit < bytes.length * 8; bit += 1) {
    const changed = Buffer.from(bytes);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    t.equal(box.open(`v1:${changed.toString("base64")}`), null);
  }
});

t.test("another key opens nothing, and an unreadable key file is not replaced", async (t) => {
  const folder = t.testdir();
  const sealed = new SecretBox(keyFile(join(folder, "a"))).seal("1");
  new SecretBox(keyFile(join(folder, "b"))).seal("1");
  t.equal(new SecretBox(keyFile(join(folder, "b"))).open(sealed), null);
  t.equal(new SecretBox(keyFile(join(folder, "none"))).open(sealed), null);
  writeFileSync(join(folder, "c"), "broken");
  t.throws(() => new SecretBox(keyFile(join(folder, "c"))).seal("1"));
  t.equal(readFileSync(join(folder, "c"), "utf8"), "broken");
});

t.test("the key comes from the environment, or from a file that it names, which is never made", async (t) => {
  const folder = t.testdir();
  const home = new SecretBox(secretKeySource(folder, {}));
  const sealed = home.seal("1");
  const text = readFileSync(join(folder, "secret.key"), "utf8");
  const given = new SecretBox(secretKeySource("/no/home", { MILLRACE_SECRET_KEY: text }));
  t.equal(given.present, true);
  t.equal(given.place, "MILLRACE_SECRET_KEY");
  t.equal(given.open(sealed), "1");
  t.equal(home.open(given.seal("2")), "2");
  const named = join(folder, "other");
  const file = new SecretBox(secretKeySource("/no/home", { MILLRACE_SECRET_KEY_FILE: named }));
  t.throws(() => file.seal("1"), { message: `${named} holds no key of secrets: 32 bytes as base64` });
  t.equal(existsSync(named), false);
  writeFileSync(named, text);
  t.equal(file.open(sealed), "1");
  t.equal(new SecretBox(secretKeySource(folder, { MILLRACE_SECRET_KEY: "short" })).open(sealed), null);
});

t.test("a secret is stored sealed, and no answer or row has its value", async (t) => {
  const kit = new DispatchKit();
  const made = kit.send("CreateVariable", { body: { name: "a/b", value: { key: "marker" }, secret: true, tags: ["t"] } });
  t.match(made.reply, { status: 201, body: { name: "a/b", value: "********", secret: true, tags: ["t"] } });
  t.match(operations(made, "put_variable"), [{ name: "a/b", value: 'sealed {"key":"marker"}', secret: 1 }]);
  t.same(made.stream, [{ kind: "variable.updated", id: "a/b" }]);
  const again = kit.send("CreateVariable", { body: { name: "a/b", value: 2 } });
  t.match(again.reply, { body: { value: "********", secret: true, tags: [] } }, "overwriting does not reveal it");
  t.equal(kit.send("CreateVariable", { body: { name: "a/b", value: 2, overwrite: false } }).reply?.status, 409);
});

t.test("values are at most 64 KiB as JSON text, names are checked", async (t) => {
  const kit = new DispatchKit();
  const create = (name: string, value: unknown) => kit.send("CreateVariable", { body: { name, value } }).reply?.status;
  t.equal(create("fits", "x".repeat(65_534)), 201);
  t.equal(create("too-large", "x".repeat(65_535)), 422);
  t.equal(create("Upper", 1), 422);
  t.equal(create("null", null), 201);
});

t.test("a secret that is made plain is shown, and the server's log says so", async (t) => {
  const kit = new DispatchKit();
  const make = (secret: boolean | undefined, more: object = {}) =>
    kit.send("CreateVariable", { body: { name: "tok", value: "marker", secret }, ...more });
  make(true);
  const shown = kit.send("PatchVariable", { targetName: "tok", body: { secret: false } });
  t.match(shown.reply, { status: 200, body: { value: "marker", secret: false } });
  t.same(shown.serverLog, ["variable tok is no longer secret: its value is stored and shown as it is"]);
  t.same(make(false).serverLog, [], "it was plain already");
  make(true);
  t.match(make(false), { reply: { status: 201, body: { secret: false } }, serverLog: [/^variable tok is no longer secret/] });
});

t.test("no tool for agents makes a secret plain", async (t) => {
  const kit = new DispatchKit();
  const set = (secret?: boolean) =>
    kit.send("CreateVariable", { body: { name: "tok", value: "marker", secret }, mcpClient: "editor" });
  t.match(set(true).reply, { status: 201, body: { secret: true } });
  const refused = set(false);
  t.match(refused.reply, { status: 409, body: { error: "variable tok is secret, and an agent cannot make it plain" } });
  t.same(operations(refused, "put_variable"), []);
  t.match(set().reply, { body: { value: "********", secret: true } }, "another value stays secret");
  for (const [name, { input }] of Object.entries<McpTool>(MCP_TOOLS))
    if ("secret" in input.properties) t.equal(name, "set_variable");
});
