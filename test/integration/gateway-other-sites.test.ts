/** What pages of other sites, and clients without the token, can learn from a server on this machine. */
import t from "tap";
import { ROUTES } from "#protocol/routes/routes";
import { StubServer } from "../support/gateway-stub.ts";

const fetchHeaders = (site: string, mode: string, destination: string): Record<string, string> => ({
  "sec-fetch-site": site,
  "sec-fetch-mode": mode,
  "sec-fetch-dest": destination,
});

t.test("every answer of the API forbids to guess its type and to show it to other sites", async (t) => {
  const server = await new StubServer().start();
  t.teardown(() => server.stop());
  for (const { method, path } of [...ROUTES, { method: "POST", path: "/mcp" }, { method: "GET", path: "/api/nothing" }]) {
    if (path === "/api/stream") continue;
    const { status, headers } = await server.send(method, path.replace(/\{\w+\}/g, "1"));
    t.match(
      headers,
      { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "same-origin" },
      `${method} ${path}: ${status}`,
    );
  }
  const options = await server.send("OPTIONS", "/api/runs");
  t.match(options.headers, { "x-content-type-options": "nosniff" });
});

t.test("a page of another site cannot tell what there is where no token is set", async (t) => {
  const server = await new StubServer().start();
  t.teardown(() => server.stop());
  const status = async (path: string, headers: Record<string, string>, method = "GET") =>
    (await server.send(method, path, { headers })).status;
  for (const site of ["cross-site", "same-site"]) {
    for (const path of ["/api/health", "/api/flows/1", "/api/nothing", "/", "/assets/main.js"]) {
      t.equal(await status(path, fetchHeaders(site, "no-cors", "image")), 403, `a picture of ${path}, ${site}`);
      t.equal(await status(path, fetchHeaders(site, "no-cors", "script")), 403, `a script of ${path}, ${site}`);
      t.equal(await status(path, fetchHeaders(site, "navigate", "iframe")), 403, `a frame of ${path}, ${site}`);
    }
    t.equal(await status("/api/flows/1", fetchHeaders(site, "navigate", "document")), 403, "a link to the API");
    t.equal(await status("/mcp", fetchHeaders(site, "navigate", "document")), 403);
    t.equal(await status("/runs/1", fetchHeaders(site, "navigate", "document")), 200, "a link to a page");
    t.equal(await status("/runs/1", fetchHeaders(site, "navigate", "document"), "POST"), 403, "a form");
  }
  for (const site of ["same-origin", "none"]) {
    t.equal(await status("/api/health", fetchHeaders(site, "cors", "empty")), 200, site);
  }
  t.equal(await status("/api/health", {}), 200, "a program");
});

t.test("with a token configured it alone decides: without it, no answer reveals what exists", async (t) => {
  const server = await new StubServer({ token: "secret" }).start();
  t.teardown(() => server.stop());
  const headers = { ...fetchHeaders("cross-site", "no-cors", "image"), authorization: "Bearer secret" };
  t.equal((await server.send("GET", "/api/server", { headers })).status, 200);
  for (const path of ["/api/flows/1", "/api/runs"]) t.equal((await server.send("GET", path)).status, 401, path);
});

for (const transport of ["uws", "node"] as const) {
  t.test(`an Authorization of spaces takes no longer than one of letters: ${transport}`, async (t) => {
    const server = await new StubServer({ transport, token: "secret" }).start();
    t.teardown(() => server.stop());
    const timed = async (inner: string): Promise<number> => {
      const begin = performance.now();
      for (let index = 0; index < 100; index += 1) {
        const { status } = await server.send("GET", "/api/server", { headers: { authorization: `bearer a${inner}b` } });
        t.equal(status, 401);
      }
      return performance.now() - begin;
    };
    await timed("x");
    const letters = await timed("a".repeat(3_700));
    const spaces = await timed(" ".repeat(3_700));
    t.ok(spaces < letters * 10, `${Math.round(spaces)} ms against ${Math.round(letters)} ms`);
  });
}
