import t from "tap";
import { Router } from "#gateway/request/router";
import { ROUTES } from "#protocol/routes/routes";

function routerOfAll(): Router<string> {
  const router = new Router<string>();
  for (const { method, path, operation } of ROUTES) router.add(method, path, operation);
  return router;
}

t.test("every route of the table is found, with its parameters in order", async (t) => {
  const router = routerOfAll();
  for (const route of ROUTES) {
    let count = 0;
    const path = route.path.replace(/\{\w+\}/g, () => `v${count++}`);
    const match = router.match(path);
    t.equal(match?.methods.get(route.method), route.operation, `${route.method} ${route.path}`);
    t.same(
      match?.values,
      Array.from({ length: count }, (_, index) => `v${index}`),
    );
  }
});

t.test("a fixed segment wins over a parameter", async (t) => {
  const router = new Router<string>();
  router.add("GET", "/a/{id}/x", "parameter");
  router.add("GET", "/a/fixed/x", "fixed");
  router.add("GET", "/a/{id}", "one");
  t.equal(router.match("/a/fixed/x")?.methods.get("GET"), "fixed");
  t.equal(router.match("/a/other/x")?.methods.get("GET"), "parameter");
  t.equal(router.match("/a/7")?.methods.get("GET"), "one");
});

t.test("unknown paths are not found", async (t) => {
  const router = routerOfAll();
  for (const path of [
    "/api/runs/",
    "/api/runs//",
    "/api/runs/1/",
    "/api//runs",
    "/api",
    "/",
    "",
    "/api/runs/1/nothing",
    "/API/runs",
  ]) {
    t.equal(router.match(path), null, path);
  }
  t.equal(router.match("/api/r%75ns"), null, "encoded letters are not decoded");
});

t.test("HEAD is served by GET, and allow names every method", async (t) => {
  const router = routerOfAll();
  const runs = router.match("/api/runs")?.methods;
  t.equal(runs?.get("HEAD"), "listRuns");
  t.equal(runs?.get("PUT"), undefined);
  t.same(new Set(runs?.allow.split(", ")), new Set(["GET", "HEAD", "POST", "OPTIONS"]));
  t.same(new Set(router.match("/api/engine/work")?.methods.allow.split(", ")), new Set(["POST", "OPTIONS"]));
});
