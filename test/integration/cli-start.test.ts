/** A short command loads no more than it needs, because people wait for its start. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { testFolder } from "../support/test-folder.ts";

const MAIN = fileURLToPath(new URL("../../cli/main.ts", import.meta.url));

/** Reports at the end which modules were loaded: our own files by path, parts of Node by name. */
const REPORT = `
import { registerHooks } from "node:module";
const urls = [];
registerHooks({ load: (url, context, next) => { urls.push(url); return next(url, context); } });
process.on("exit", () => process.stderr.write(JSON.stringify([...urls, ...process.moduleLoadList])));
`;

async function modulesOf(args: readonly string[]): Promise<string[]> {
  const command = ["--conditions=millrace-src", "--import", `data:text/javascript,${encodeURIComponent(REPORT)}`, MAIN, ...args];
  const child = spawn(process.execPath, command, { stdio: ["ignore", "ignore", "pipe"] });
  let loaded = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    loaded += text;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(loaded);
  return JSON.parse(loaded) as string[];
}

t.test("a command that asks a server loads neither that server nor fetch", async (t) => {
  const server = createServer((_request, response) => response.end('{"items":[],"next_cursor":null}')).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => server.close());
  const home = testFolder(t);
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const found = { auth: false, host: "127.0.0.1", pid: process.pid, port: 0, socket: null, started_at: Date.now() * 1000, url };
  writeFileSync(join(home, "server.json"), JSON.stringify(found), { mode: 0o600 });
  const loaded = await modulesOf(["runs", "ls", "--home", home]);
  t.ok(
    loaded.some((name) => name.endsWith("/sdk/client/runs.ts")),
    "the report is complete",
  );
  t.same(
    loaded.filter((name) => /undici/.test(name)),
    [],
  );
  t.same(
    loaded.filter((name) => /\/(?:server|actors|gateway|storage|runtime)\/|typebox|better-sqlite3|uWebSockets/.test(name)),
    [],
  );
});

t.test("the version is told without the client", async (t) => {
  const loaded = await modulesOf(["--version"]);
  t.same(
    loaded.filter((name) => /\/(?:sdk|protocol|server)\//.test(name)),
    [],
  );
});
