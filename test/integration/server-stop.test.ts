/** An orderly stop of the real server: waiting requests are answered instead of delaying the stop for its grace. */
import { existsSync, mkdtempSync, rmSync, watch } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { serve, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const MODULE = { module: "stop.py", source_dir: "/stop" };

async function post(url: string, body: unknown) {
  const response = await fetch(url, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json" },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

for (const threads of ["two", "three"] as const) {
  t.test(`${threads} threads: parked polls are told to leave, a waiting acquire ends empty`, async (t) => {
    const root = testFolder(t, { served: { "millrace.toml": `[server]\nthreads = "${threads}"\n[resources]\ngpu = 1\n` } });
    const server = await serve(t, join(root, "served"), join(root, "home"));
    const created = await post(`${server.url}/api/runs`, { project: "stop", flow: "job", ...MODULE });
    const run_id = Number(created.body["id"]);
    const acquire = { run_id, resources: { gpu: 1 }, wait_ms: 30_000 };
    t.equal((await post(`${server.url}/api/resources/acquire`, acquire)).status, 200);
    const waiting = post(`${server.url}/api/resources/acquire`, acquire);
    const polls = ["a", "b", "c"].map((engine_id) =>
      post(`${server.url}/api/engine/work`, {
        engine_id,
        pid: process.pid,
        module: "other.py",
        source_dir: "/stop",
        wait_ms: 30_000,
      }),
    );
    // The server knows the engines once their polls are parked.
    for (let engines = 0; engines < polls.length; ) {
      const queue = (await (await fetch(`${server.url}/api/queue`)).json()) as { engines: unknown[] };
      engines = queue.engines.length;
    }
    server.child.kill("SIGTERM");
    t.match(await server.ended, { code: 0 });
    for (const answer of await Promise.all(polls)) t.same(answer, { status: 200, body: { run: null, exit: true } });
    t.same(await waiting, { status: 200, body: { waiting: "gpu" } });
  });
}

t.test("a signal while a file is being imported stops the server in order", async (t) => {
  const home = mkdtempSync(join(tmpdir(), "millrace-stop-"));
  const served = testFolder(t, {
    "busy.ts":
      'import "millrace";\nimport { writeFileSync } from "node:fs";\nwriteFileSync(new URL("./imported", import.meta.url), "");\nfor (;;);\n',
  });
  const importing = Promise.withResolvers<void>();
  const watcher = watch(served, (_event, name) => name === "imported" && importing.resolve());
  const serve = startCommand(["serve", served, "--home", home, "--port", "0", "--no-engines", "--no-open"]);
  await importing.promise;
  watcher.close();
  serve.child.kill("SIGTERM");
  t.same(await serve.ended, { code: 0, out: "", errors: "" });
  t.notOk(existsSync(join(home, "server.json")), "nothing is left behind");
  rmSync(home, { recursive: true });
});
