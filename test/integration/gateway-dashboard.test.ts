import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { DASHBOARD_PAGES } from "#protocol/routes/dashboard-pages";
import { StubServer } from "../support/gateway-stub.ts";

/** A folder like the build's output. */
function builtDashboard(): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-dashboard-"));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>the document</title>");
  writeFileSync(join(folder, "assets/index-abc.js"), "plain()");
  writeFileSync(join(folder, "assets/index-abc.js.br"), "as brotli");
  writeFileSync(join(folder, "assets/index-abc.js.gz"), "as gzip");
  writeFileSync(join(folder, "assets/font-abc.woff2"), "font");
  writeFileSync(join(folder, "assets/source.map"), "not ours to send");
  return folder;
}

t.test("the dashboard at the gateway", async (t) => {
  const dashboard = builtDashboard();
  const server = await new StubServer({ dashboard, token: "secret" }).start();
  t.teardown(async () => {
    await server.stop();
    rmSync(dashboard, { recursive: true });
  });

  t.test("each of its pages is its document, without a token, under the policy", async (t) => {
    for (const address of Object.values(DASHBOARD_PAGES)) {
      const page = await server.send("GET", `${address.replace("{id}", "12")}?tab=logs`);
      t.equal(page.status, 200, address);
      t.match(page.text, "the document");
      const policy = String(page.headers["content-security-policy"]);
      t.match(policy, /default-src 'none'/);
      t.match(policy, /script-src 'self';/);
      t.match(policy, /style-src 'self';/);
      t.match(policy, /frame-ancestors 'none'/);
      t.notMatch(policy, /unsafe/);
      t.equal(page.headers["x-content-type-options"], "nosniff");
      t.equal(page.headers["cache-control"], "no-cache");
    }
    t.equal((await server.send("GET", "/runs/")).status, 200);
  });

  t.test("the document is sent once until it changes", async (t) => {
    const { etag } = (await server.send("GET", "/")).headers;
    t.type(etag, "string");
    const again = await server.send("GET", "/runs", { headers: { "if-none-match": String(etag) } });
    t.equal(again.status, 304);
    t.equal(again.text, "");
    t.equal((await server.send("GET", "/runs", { headers: { "if-none-match": '"other"' } })).status, 200);
  });

  t.test("hashed files are kept for ever and come as they were compressed", async (t) => {
    const plain = await server.send("GET", "/assets/index-abc.js");
    t.equal(plain.text, "plain()");
    t.equal(plain.headers["cache-control"], "public, max-age=31536000, immutable");
    t.equal(plain.headers["content-type"], "text/javascript; charset=utf-8");
    t.equal(plain.headers["vary"], "accept-encoding");
    t.equal(plain.headers["content-encoding"], undefined);
    const as = (accepted: string) => server.send("GET", "/assets/index-abc.js", { headers: { "accept-encoding": accepted } });
    const brotli = await as("gzip, deflate, br;q=0.9");
    t.equal(brotli.text, "as brotli");
    t.equal(brotli.headers["content-encoding"], "br");
    t.equal((await as("gzip")).text, "as gzip");
    t.equal((await as("br;q=0, gzip;q=0.0")).text, "plain()");
    t.equal((await as("brown")).text, "plain()");
    const font = await server.send("GET", "/assets/font-abc.woff2", { headers: { "accept-encoding": "br" } });
    t.equal(font.headers["content-encoding"], undefined, "a font is compressed by itself");
  });

  t.test("HEAD answers with the length alone", async (t) => {
    const head = await server.send("HEAD", "/assets/index-abc.js");
    t.equal(head.text, "");
    t.equal(head.headers["content-length"], "7");
  });

  t.test(
    "a path that is no page, file or part of the API is 404; a browser gets the document with it, which says so",
    async (t) => {
      const none = ["/foo.php", "/nothing", "/runs/abc", "/runs/{id}", "/runs/12/more", "/api", "/mcp/more", "/runsx"];
      for (const path of none) {
        const plain = await server.send("GET", path);
        t.equal(plain.status, 404, path);
        t.match(JSON.parse(plain.text), { error: String });
        t.notMatch((await server.send("GET", path, { headers: { accept: "*/*, image/png" } })).text, "the document");
        const page = await server.send("GET", path, { headers: { accept: "text/html,application/xml;q=0.9,*/*;q=0.8" } });
        t.equal(page.status, 404, path);
        t.match(page.text, "the document");
        t.match(page.headers["content-type"], "text/html");
        t.match(String(page.headers["content-security-policy"]), "default-src 'none'");
        t.equal((await server.send("POST", path, { body: "{}" })).status, 404);
      }
      t.equal((await server.send("HEAD", "/foo.php")).status, 404);
      t.equal((await server.send("GET", "/flows/12/")).status, 200, "a slash at the end does not matter");
    },
  );

  t.test("a file that is not of this build is not found, nor is an unknown path of the API", async (t) => {
    const paths = [
      "/assets/index-other.js",
      "/assets/source.map",
      "/assets/index-abc.js.br",
      "/assets/../index.html",
      "/assets/%2e%2e/index.html",
      "/api/",
    ];
    for (const path of paths) {
      const missing = await server.raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      t.match(missing, /^HTTP\/1\.1 40[14]/, path);
      t.notMatch(missing, "the document", path);
    }
  });

  t.test("the API and MCP are never its pages", async (t) => {
    t.equal((await server.send("GET", "/api/runs")).status, 401);
    t.equal((await server.send("GET", "/api/runs/1")).status, 401);
    t.equal((await server.send("GET", "/mcp")).status, 401);
    const authorization = "Bearer secret";
    t.match(
      (await server.send("GET", "/api/nothing", { headers: { authorization } })).headers["content-type"],
      "application/json",
    );
    t.equal((await server.send("GET", "/mcp", { headers: { authorization } })).status, 405);
  });

  t.test("nothing but reading is offered", async (t) => {
    const refused = await server.send("POST", "/runs", { body: "{}" });
    t.equal(refused.status, 405);
    t.equal(refused.headers.allow, "GET, HEAD");
  });
});

t.test("without a build, a landing page says how to make one", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-empty-"));
  const server = await new StubServer({ dashboard: folder }).start();
  t.teardown(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });
  const page = await server.send("GET", "/");
  t.equal(page.status, 200);
  t.match(page.text, "npm run build:dashboard");
  t.match(String(page.headers["content-security-policy"]), "default-src 'none'");
  for (const path of ["/assets/index-abc.js", "/foo.php"]) t.equal((await server.send("GET", path)).status, 404);
});
