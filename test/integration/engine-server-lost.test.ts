import { rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import t from "tap";
import { Connection } from "#sdk/engine/connection";
import { sendUntilAnswered } from "#sdk/engine/retrying";
import { parseSettings } from "#sdk/engine/settings";
import { startEngine } from "../support/engine-process.ts";
import { testFolder } from "../support/test-folder.ts";

t.test("an idle engine gives up when it reaches no server", async (t) => {
  const { server, exited, complaints } = await startEngine(t, "basic.ts", ["--give-up", "0.5"]);
  await server.until(() => server.parked);
  server.close();
  t.equal(await exited, 1);
  t.match(complaints(), /no server for 0\.5 s/);
});

t.test("an engine whose code never comes to rest gives up its run when it reaches no server", async (t) => {
  const times = ["--lost", "0.3", "--grace", "0.1", "--give-up", "0.5"];
  const { server, exited, complaints } = await startEngine(t, "stopping.ts", times);
  const run = server.enqueue("busy");
  await server.until(() => server.logs(run).length > 0);
  server.close();
  t.equal(await exited, 1);
  t.match(complaints(), /no server for 0\.3 s, the run is given up/);
});

t.test("an engine whose module is never imported to its end gives up as an idle one does", async (t) => {
  const { server, exited, complaints } = await startEngine(t, "endless-import.ts", ["--give-up", "0.5"]);
  server.close();
  t.equal(await exited, 1);
  t.match(complaints(), /no server for 0\.5 s while endless-import\.ts was imported/);
});

t.test("the address is re-read from the discovery file after a lost connection", async (t) => {
  const home = testFolder(t);
  const answering = (text: string) =>
    new Promise<{ url: string; close: () => void }>((resolve) => {
      const http = createServer((_, response) => response.end(JSON.stringify(text)));
      http.listen(0, "127.0.0.1", () => {
        const address = http.address();
        const port = typeof address === "object" ? address?.port : undefined;
        const close = () => {
          http.closeAllConnections();
          http.close();
        };
        resolve({ url: `http://127.0.0.1:${port}`, close });
      });
    });
  const [first, second] = await Promise.all([answering("first"), answering("second")]);
  t.teardown(second.close);
  const discover = (url: string) => writeFile(join(home, "server.json"), JSON.stringify({ url }));
  await discover(first.url);
  const settings = parseSettings(["--source-dir", home, "--module", "m.ts"], { MILLRACE_HOME: home, MILLRACE_TOKEN: "secret" });
  const connection = new Connection(settings.address, 5_000);
  t.teardown(() => connection.close());
  t.equal((await connection.send("GET", "/", null)).body, "first");
  first.close();
  await discover(second.url);
  const answer = await sendUntilAnswered(() => connection.send("GET", "/", null), 10_000);
  t.equal(answer.body, "second");
  await rm(home, { recursive: true });
});

t.test("a command line that does not fit is refused with the usage", async (t) => {
  t.throws(() => parseSettings([], {}), /usage:/);
  t.throws(() => parseSettings(["--source-dir", "x", "--module", "y", "--nice", "low"], {}), /--nice takes a number/);
  const { identity, address, giveUpMs } = parseSettings(
    ["--source-dir", "/flows", "--module", "a.ts", "--socket", "/run/m.sock", "--once", "--nice", "5"],
    { MILLRACE_ENGINE_ID: "e9" },
  );
  t.match(identity, { engineId: "e9", sourceDir: "/flows", module: "a.ts", isolated: true, nice: 5 });
  t.same(address(), { url: "http://localhost", socketPath: "/run/m.sock", token: null });
  t.equal(giveUpMs, 30_000);
});
