/**
 * Program of a server whose actors and threads are ended by messages: `SERVER_MODULE CONFIG_MODULE HOME two|three`. A message
 * is answered when done; `stop` ends the process with the server's exit code.
 */
import type { FaultRequest } from "./fault-server.ts";

type ServerModule = typeof import("#server/main");
type ConfigModule = typeof import("#server/config/config");

const [, , serverModule = "", configModule = "", home = "", threads] = process.argv;
const { startServer } = (await import(serverModule)) as ServerModule;
const { loadConfig } = (await import(configModule)) as ConfigModule;

const { config } = loadConfig({ home, port: "0", engines: false, open: false }, {}, home);
const server = await startServer({ ...config, threads: threads === "two" ? "two" : "three" }, home);
process.on("message", (message) => void serve(message as FaultRequest));
process.send?.({ url: server.url });
process.exitCode = await server.stopped;
process.disconnect();

async function serve({ ask, names }: FaultRequest): Promise<void> {
  if (ask === "stop") return await server.stop();
  const { threads } = server;
  await Promise.all(names.map((name) => (ask === "kill" ? threads.kill(name, "killed by a test") : threads.terminate(name))));
  process.send?.({ done: ask });
}
