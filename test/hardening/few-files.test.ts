/**
 * A process with a low limit of open files, and more connections than that: no thread may spin, and the server keeps its own
 * files.
 */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import t from "tap";
import { startHardenedServer } from "./hardened-server.ts";

const FILES = 256;
const CONNECTIONS = 500;
/** Long enough to detect a spinning thread. */
const LOOKED_AT_MS = 2_000;
const TICKS_PER_SECOND = 100;

/** CPU time used by a process so far, in milliseconds. */
function usedMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1000;
}

/** Whether a connection is served: shown by the first byte, or by its end. */
async function isServed(socket: Socket): Promise<boolean> {
  const received = once(socket, "data").then(([piece]) => String(piece).startsWith("HTTP/1.1 200"));
  const ended = once(socket, "close").then(() => false);
  return Promise.race([received, ended]).catch(() => false);
}

const skip = spawnSync("prlimit", ["--version"]).status === 0 ? false : "prlimit is not here";

t.test("with few files connections beyond a bound are refused, and the server goes on", { skip }, async (t) => {
  const server = await startHardenedServer([], undefined, { openFiles: FILES });
  t.teardown(() => server.stop());
  const { hostname, port } = new URL(server.url);
  const sockets = Array.from({ length: CONNECTIONS }, () => connect(Number(port), hostname));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
  });
  const served = await Promise.all(
    sockets.map((socket) => {
      socket.on("error", () => undefined);
      // A stream, because it stays open, unlike a keep-alive connection.
      socket.write(`GET /api/stream HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
      return isServed(socket);
    }),
  );
  const count = served.filter(Boolean).length;
  t.ok(count > 50 && count <= FILES / 2, `${count} connections are served`);
  t.ok(readdirSync(`/proc/${server.pid}/fd`).length < FILES - 32, "files are left");
  const before = usedMs(server.pid);
  await pause(LOOKED_AT_MS);
  t.ok(usedMs(server.pid) - before < LOOKED_AT_MS / 2, `used ${usedMs(server.pid) - before} ms`);
  t.match(server.output() + readFileSync(`${server.home}/server.log`, "utf8"), /open files are limited to 256/);
  for (const socket of sockets) socket.destroy();
  let created = 0;
  while (created !== 201) {
    const answer = await fetch(`${server.url}/api/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ flow: "flow", project: "project", module: "flow.ts", source_dir: "/nowhere" }),
    });
    created = answer.status;
    await answer.text();
  }
  t.equal(server.ended(), null);
});
