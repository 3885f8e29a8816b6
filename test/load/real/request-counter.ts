/** Loaded into the processes of a measured server by request-counts.ts. Counts the requests of an engine to its protocol. */
import { subscribe } from "node:diagnostics_channel";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMainThread } from "node:worker_threads";
import { ENGINE_PROGRAM } from "./engine-program.ts";

const PROTOCOL = "/api/engine/";
const WRITE_EVERY_MS = 100;
/** Published for each request, with its path: by Node's own HTTP client, and by undici, which engines of earlier trees use. */
const CHANNELS = ["http.client.request.start", "undici:request:create"];

const folder = process.env["LOAD_REQUESTS_FOLDER"];
if (folder !== undefined && isMainThread && process.argv[1]?.endsWith(ENGINE_PROGRAM)) {
  const file = join(folder, String(process.pid));
  let count = 0;
  let written = -1;
  const write = () => {
    if (count !== written) writeFileSync(file, String(count));
    written = count;
  };
  for (const channel of CHANNELS) {
    subscribe(channel, (message) => {
      const { request } = message as { request: { path: string } };
      if (request.path.startsWith(PROTOCOL)) count += 1;
    });
  }
  setInterval(write, WRITE_EVERY_MS).unref();
  process.on("exit", write);
}
