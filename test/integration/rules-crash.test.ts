/** Rules over a kill of the server: every event leads to one firing, what was being sent is sent again, expectations live on. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import t from "tap";

const PROGRAM = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));
const EVENTS = 60;

interface Server {
  child: ChildProcess;
  url: string;
}

async function serve(home: string): Promise<Server> {
  const args = ["--conditions=millrace-src", PROGRAM, "serve", home, "--home", home, "--port", "0", "--no-open", "--no-engines"];
  const child = spawn(process.execPath, args, { stdio: "ignore", env: { ...process.env, NODE_OPTIONS: "" } });
  for (;;) {
    try {
      const found = JSON.parse(readFileSync(join(home, "server.json"), "utf8")) as { pid: number; url: string };
      if (found.pid === child.pid) return { child, url: found.url };
    } catch {
      // Not there yet.
    }
    await pause(20);
  }
}

async function kill({ child }: Server): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

async function call<T>(server: Server, method: string, path: string, body?: unknown): Promise<T> {
  const text = body === undefined ? null : JSON.stringify(body);
  const answer = await fetch(`${server.url}${path}`, { method, headers: { "content-type": "application/json" }, body: text });
  return (await answer.json()) as T;
}

/** Looks until it is there; tap ends a test that waits too long. */
async function until<T>(look: () => Promise<T | null>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== null) return found;
    await pause(20);
  }
}

type Firing = { event_id: number; outcomes: { status: string; detail: { attempts: number } }[] };

t.test("a killed server misses no event, fires for none twice, and repeats what had no answer", async (t) => {
  const keys: string[] = [];
  let answers = false;
  const receiver = createServer((request, response) => {
    keys.push(String(request.headers["idempotency-key"]));
    if (answers) response.end();
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const home = mkdtempSync(join(tmpdir(), "millrace-rules-"));
  let server = await serve(home);
  t.teardown(() => {
    server.child.kill("SIGKILL");
    receiver.closeAllConnections();
    receiver.close();
    rmSync(home, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const noop = [{ kind: "cancel_run" }];
  await call(server, "POST", "/api/rules", {
    ...{ name: "all", once: "never", max_per_minute: 0, do: noop, when: { events: ["kit.many"] } },
  });
  await call(server, "POST", "/api/rules", { name: "hook", when: { events: ["kit.hook"] }, do: [{ kind: "webhook", url }] });
  const flow = { flow: "f", project: "p", module: "m.ts", source_dir: "/nowhere" };
  const run = await call<{ id: number }>(server, "POST", "/api/runs", flow);
  const watch = { when: { events: ["kit.start"] }, unless: { events: ["kit.done"] }, within: 1.5, do: noop };
  await call(server, "POST", "/api/rules", { name: "watch", ...watch });
  await call(server, "POST", "/api/events", { name: "kit.start", run_id: run.id });
  await call(server, "POST", "/api/events", { name: "kit.hook", run_id: run.id });
  await until(async () => (keys.length > 0 ? true : null));

  const sent: number[] = [];
  for (let index = 0; index < EVENTS; index += 1)
    sent.push((await call<{ id: number }>(server, "POST", "/api/events", { name: "kit.many" })).id);
  await kill(server);
  answers = true;
  server = await serve(home);
  await call(server, "POST", "/api/events", { name: "kit.hook", run_id: run.id });

  const hooked = await until(async () => {
    const firings = await call<Firing[]>(server, "GET", "/api/rules/2/firings");
    return firings.length > 0 ? firings : null;
  });
  t.match(hooked, [{ outcomes: [{ status: "completed" }] }]);
  t.equal(new Set(keys).size, 1, "one key for all tries, before and after the kill");
  await until(async () => {
    const open = await call<unknown[]>(server, "GET", "/api/rules/3/expectations?open=false");
    return JSON.stringify(open).includes('"lapsed"') ? true : null;
  });
  t.equal(
    (
      await until(async () => {
        const firings = await call<Firing[]>(server, "GET", "/api/rules/3/firings");
        return firings.length > 0 ? firings : null;
      })
    ).length,
    1,
    "the expectation lapsed once",
  );
  const fired = (await call<Firing[]>(server, "GET", "/api/rules/1/firings")).map(({ event_id }) => event_id);
  t.same(
    fired.sort((a, b) => a - b),
    sent,
    "each event once",
  );
  t.equal((await call<Firing[]>(server, "GET", "/api/rules/2/firings")).length, 1, "once per run, also after the restart");
});
