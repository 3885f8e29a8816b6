/** The files of examples/container, as far as they can be checked without a builder of images. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { SERVE } from "#cli/serve/serve-command";
import { DEFAULT_PORT, loadConfig } from "#server/config/config";
import { VARIABLES } from "#server/config/config-keys";
import { newPlace } from "../support/called-code.ts";
import { serveWithEngines, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const text = (name: string): string => readFileSync(join(ROOT, "examples/container", name), "utf8");
const DOCKERFILE = text("Dockerfile").replaceAll("\\\n", " ");
const COMPOSE = text("compose.yaml");

/** What an instruction of the Dockerfile says, one text for each time it stands there. */
function instructions(name: string): string[] {
  return Array.from(DOCKERFILE.matchAll(new RegExp(`^${name}\\s+(.+)$`, "gm")), ([, said = ""]) => said.trim());
}

const list = (said: string | undefined): string[] => JSON.parse(said ?? "") as string[];

t.test("ports, the volume and variables are those of the server", async (t) => {
  t.same(instructions("EXPOSE"), [`${DEFAULT_PORT}`]);
  t.match(COMPOSE, `"127.0.0.1:${DEFAULT_PORT}:${DEFAULT_PORT}"`);
  t.match(text("prometheus.yml"), `targets: ["millrace:${DEFAULT_PORT}"]`);
  const [volume = ""] = instructions("VOLUME");
  t.match(DOCKERFILE, `MILLRACE_HOME=${volume} `);
  t.match(DOCKERFILE, `--mode=0700 ${volume}\n`);
  t.match(COMPOSE, `"millrace:${volume}"`);
  const named = Array.from(`${DOCKERFILE}${COMPOSE}`.matchAll(/\b(MILLRACE_\w+)\s*[=:]/g), ([, name = ""]) => name);
  t.match([...new Set(named)].sort(), ["MILLRACE_ALLOWED_HOSTS", "MILLRACE_HOME", "MILLRACE_HOST", "MILLRACE_TOKEN"]);
  for (const name of named) t.ok(name in VARIABLES, name);
  t.same(instructions("USER"), ["millrace"]);
});

t.test("signals reach the server, and a stop lasts longer than the drain", async (t) => {
  t.same(list(instructions("ENTRYPOINT")[0]), ["tini", "--", "millrace"]);
  const [command, dir = "", ...flags] = list(instructions("CMD")[0]);
  t.equal(command, SERVE.name);
  t.same([flags[0], flags.length], ["--drain", 2]);
  t.ok(SERVE.options?.some((option) => option.flags.startsWith("--drain ")));
  const { drainSecs } = loadConfig({ drain: flags[1] }, {}, testFolder(t, { [dir]: {} })).config;
  const [, grace = "0"] = /stop_grace_period: (\d+)s/.exec(COMPOSE) ?? [];
  t.ok(Number(grace) >= drainSecs + 15, "time for the end itself too");
});

t.test("what the image and the compose file take exists, and no secret gets into the image", async (t) => {
  const folder = testFolder(t, {});
  const { code, errors } = await startCommand(["init", folder]).ended;
  t.equal(code, 0, errors);
  for (const name of ["package.json", "flows"]) t.ok(existsSync(join(folder, name)), name);
  for (const name of ["node_modules", ".env", ".git"]) t.ok(text(".dockerignore").split("\n").includes(name), name);
  const mounted = Array.from(COMPOSE.matchAll(/- (\.\/[^:]+):\//g), ([, path = ""]) => path);
  t.equal(mounted.length, 4);
  for (const path of mounted) {
    const own = path.replace(/^\.\/node_modules\/millrace\//, ROOT);
    t.ok(existsSync(own === path ? join(ROOT, "examples/container", path) : own), path);
  }
});

t.test("the health check distinguishes a server that takes work from none", async (t) => {
  const place = newPlace(t, "");
  const server = await serveWithEngines(t, place.dir, place.home);
  const [, check = "[]"] = /CMD (\[.+\])/.exec(instructions("HEALTHCHECK")[0] ?? "") ?? [];
  const [program, flag, code = ""] = list(check);
  t.same([program, flag], ["node", "-e"]);
  const at = (port: string) => spawnSync(process.execPath, ["-e", code.replace(`${DEFAULT_PORT}`, port)]).status;
  t.equal(at(new URL(server.url).port), 0);
  server.child.kill("SIGTERM");
  t.match(await server.ended, { code: 0 });
  t.equal(at(new URL(server.url).port), 1);
});
