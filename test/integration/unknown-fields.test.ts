/** Unknown body fields in the log of a running server. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { ServedHome, until } from "../support/served-home.ts";

t.test("the server's log names a field that was ignored once, whichever thread parsed the body", async (t) => {
  const home = new ServedHome();
  t.teardown(() => home.remove());
  const server = await home.serve();
  const run = { flow: "f", project: "p", module: "m.ts", source_dir: "/nowhere", praority: 1 };
  for (let time = 0; time < 3; time += 1) {
    t.equal((await server.call("POST", "/api/runs", run)).status, 201);
    t.equal((await server.call("POST", "/api/events", { name: "kit.a", paylaod: {} })).status, 201);
  }
  t.equal((await server.call("POST", "/api/runs", { ...run, priority: 5 })).status, 422);
  const lines = await until(async () => {
    const log = readFileSync(join(home.path, "server.log"), "utf8").split("\n");
    const found = log.filter((line) => line.includes("named only once"));
    return found.length >= 2 ? found : null;
  });
  t.equal(lines.length, 2);
  t.match(lines.join("\n"), /POST \/api\/runs: .*"praority"/);
  t.match(lines.join("\n"), /POST \/api\/events: .*"paylaod"/);
});
