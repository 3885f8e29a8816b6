import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import t, { type Test } from "tap";
import { listening, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

interface Environment {
  [name: string]: string;
}

/** Serves an empty folder without engines until the test ends; resolves once the server listens. */
async function serve(t: Test, home: string, args: readonly string[] = []): Promise<ChildProcess> {
  const started = startCommand(["serve", t.testdirName, "--home", home, "--port", "0", "--no-open", "--no-engines", ...args]);
  t.teardown(() => started.child.kill("SIGKILL"));
  await listening(started, home);
  return started.child;
}

async function stop(server: ChildProcess): Promise<void> {
  const ended = once(server, "exit");
  server.kill("SIGTERM");
  await ended;
}

/** A host's side of the proxy: one line out, one line in. */
class Host {
  readonly child: ChildProcess;
  readonly lines: AsyncIterator<string>;
  errors = "";

  constructor(t: Test, args: readonly string[], env: Environment = {}) {
    this.child = startCommand(["mcp", ...args], { env, stdin: "pipe" }).child;
    t.teardown(() => this.child.kill("SIGKILL"));
    const { stdout, stderr } = this.child;
    if (stdout === null || stderr === null) throw new Error("no pipes");
    this.lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
    stderr.setEncoding("utf8").on("data", (text: string) => {
      this.errors += text;
    });
  }

  write(line: unknown): void {
    this.child.stdin?.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
  }

  async read() {
    const { value, done } = await this.lines.next();
    if (done === true) throw new Error(`the proxy ended: ${this.errors}`);
    return JSON.parse(value);
  }

  ask(method: string, params: unknown = {}, id: unknown = 1) {
    this.write({ jsonrpc: "2.0", id, method, params });
    return this.read();
  }

  async tool(name: string, args: unknown = {}) {
    const { result } = await this.ask("tools/call", { name, arguments: args });
    return { isError: result.isError, text: String(result.content[0].text), value: result.structuredContent };
  }

  /** Ends standard input; returns the exit code and the remaining lines. */
  async end(): Promise<{ code: number; left: string[] }> {
    const exited = once(this.child, "exit");
    this.child.stdin?.end();
    const left: string[] = [];
    for (let line = await this.lines.next(); line.done !== true; line = await this.lines.next()) left.push(line.value);
    return { code: Number((await exited)[0]), left };
  }
}

const INTRODUCTION = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "editor", version: "1" } };

t.test("a host operates the server of its home, also after a restart", async (t) => {
  const home = join(testFolder(t), "home");
  const server = await serve(t, home);
  const host = new Host(t, [], { MILLRACE_HOME: home });

  t.match(await host.ask("initialize", INTRODUCTION, "first"), { id: "first", result: { serverInfo: { name: "millrace" } } });
  host.write({ jsonrpc: "2.0", method: "notifications/initialized" });
  host.write("");
  host.write("{");
  t.match(await host.read(), { id: null, error: { code: -32700 } }, "neither the notification nor the empty line is answered");
  t.match(await host.ask("nothing"), { error: { code: -32601 } });

  const { url } = JSON.parse(readFileSync(join(home, "server.json"), "utf8")) as { url: string };
  const registered = await fetch(`${url}/api/runs`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ project: "p", flow: "f", module: "m", source_dir: "/none" }),
  });
  t.equal(registered.status, 201);
  t.match((await host.tool("list_flows")).value, { flows: [{ project: "p", name: "f" }] });
  const created = await host.tool("run_flow", { flow: "f", tags: ["by-agent"] });
  t.match(created.value.run, { created_by: "mcp:editor", tags: ["by-agent"] });
  const id = created.value.run.id;
  t.match(await host.tool("explain_failure", { run_id: id }), {
    isError: false,
    text: /"verdict": "the run is \w+, not failed"/,
  });
  t.match((await host.tool("list_events", { run_id: id })).value, { events: [{ name: "run.scheduled" }] });

  await stop(server);
  t.match(await host.ask("ping"), { id: 1, error: { code: -32000, message: /no server is running/ } });
  await serve(t, home);
  t.match((await host.tool("run_flow", { flow: "f" })).value.run, { created_by: "mcp:editor" }, "its name is not lost");
  t.match((await host.tool("cancel_run", { run_id: id })).value.run, { state: { type: "Cancelled" } });

  t.same(await host.end(), { code: 0, left: [] });
  t.equal(host.errors, "");
});

t.test("read-only: nothing that changes state is offered or let through", async (t) => {
  const home = join(testFolder(t), "home");
  await serve(t, home, ["--token", "secret"]);

  const stranger = new Host(t, ["--home", home]);
  t.match(await stranger.ask("ping"), { error: { code: -32001, message: /--token or MILLRACE_TOKEN/ } });
  t.same(await stranger.end(), { code: 0, left: [] });

  const host = new Host(t, ["--home", home, "--read-only"], { SERVICE_TOKEN: "secret" });
  t.match((await host.ask("initialize", INTRODUCTION)).result.instructions, /only read/);
  const { tools } = (await host.ask("tools/list")).result as { tools: { name: string }[] };
  const names = tools.map(({ name }) => name);
  t.ok(names.includes("list_runs"));
  t.notOk(names.includes("run_flow"));
  t.match(await host.tool("run_flow", { flow: "f" }), { isError: true, text: /^run_flow was not called: .*--read-only/ });
  t.match(await host.tool("list_runs"), { isError: false, value: { runs: [] } });
  // Requests in progress when the input ends are still answered.
  host.write({ jsonrpc: "2.0", id: 2, method: "ping" });
  t.same(await host.end(), { code: 0, left: ['{"id":2,"jsonrpc":"2.0","result":{}}'] });
});

t.test("an address or a socket leads to the server too, and what it says becomes one line", async (t) => {
  const answers = createServer((_request, response) => response.end('{\n  "id": 1,\n  "result": {}\n}')).listen(0, "127.0.0.1");
  await once(answers, "listening");
  t.teardown(() => answers.close());
  const address = new Host(t, ["--url", `http://127.0.0.1:${(answers.address() as AddressInfo).port}`]);
  t.same(await address.ask("ping"), { id: 1, result: {} });
  t.equal((await address.end()).code, 0);

  const socket = new Host(t, ["--socket", join(tmpdir(), "millrace-none.sock")]);
  t.match(await socket.ask("ping", {}, null), {
    id: null,
    error: { code: -32000, message: /no server answers at unix:.*none\.sock/ },
  });
  socket.write({ method: "notifications/initialized" });
  t.same(await socket.end(), { code: 0, left: [] });
  t.match(socket.errors, /no server answers/);
});
