/** A stop that lets runs end: the answers of GET /api/ready during the drain, and the notifications to systemd. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { CALLS, newPlace, until } from "../support/called-code.ts";
import { serveWithEngines, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

const CODE = `
  import { flow } from "millrace";
  import { go, note } from "${CALLS}";
  export const slow = flow("slow", async () => {
    note("begun");
    await go();
    return "done";
  });
`;

async function ready(url: string): Promise<unknown> {
  const answer = await fetch(`${url}/api/ready`);
  return { status: answer.status, ...((await answer.json()) as object) };
}

t.test("with --drain a stop waits for the runs under way, and takes no further ones", async (t) => {
  const place = newPlace(t, CODE);
  const token = "a-token";
  const server = await serveWithEngines(t, place.dir, place.home, "--drain", "5m", "--token", token);
  const client = new Millrace({ home: place.home, token });
  const [flow] = await client.flows.list();
  const run = await client.flows.run(flow?.id ?? 0);
  await until(() => place.calls().includes("begun") || undefined);
  t.same(await ready(server.url), { status: 200, ready: true, reason: null }, "without the token");
  server.child.kill("SIGTERM");
  t.same(
    await until(async () => {
      const found = (await ready(server.url)) as { status: number };
      return found.status === 503 ? found : undefined;
    }),
    { status: 503, ready: false, reason: "stopping" },
  );
  t.equal((await client.runs.get(run.id)).state.type, "Running");
  await until(async () => {
    const refused = await client.flows.run(flow?.id ?? 0).catch((error: unknown) => error);
    return refused instanceof Error ? t.match(refused, { status: 409, message: /stopping/ }) : undefined;
  });
  writeFileSync(join(place.dir, "go"), "");
  t.match(await server.ended, { code: 0 });
  await serveWithEngines(t, place.dir, place.home, "--token", token);
  const next = new Millrace({ home: place.home, token });
  t.match(await next.runs.get(run.id), { state: { type: "Completed" }, attempt: run.attempt });
});

t.test("a time that cannot be read is refused", async (t) => {
  const { code, errors } = await startCommand(["serve", testFolder(t, {}), "--drain", "soon"]).ended;
  t.equal(code, 3);
  t.match(errors, /--drain must be a time such as 60s, 5m or 1h, not "soon"/);
});

t.test("the server notifies systemd when it is ready and when it stops", async (t) => {
  const dir = testFolder(t, { bin: {}, served: {} });
  const heard = join(dir, "heard");
  writeFileSync(join(dir, "bin", "systemd-notify"), `#!/bin/sh\necho "$1" >> "${heard}"\n`, { mode: 0o755 });
  const env = { NOTIFY_SOCKET: "@any", PATH: `${join(dir, "bin")}:${process.env["PATH"]}` };
  const args = ["serve", join(dir, "served"), "--home", join(dir, "home"), "--port", "0", "--no-open", "--no-engines"];
  const server = startCommand(args, { env });
  t.teardown(() => server.child.kill("SIGKILL"));
  const lines = (count: number) =>
    until(() => {
      const found = existsSync(heard) ? readFileSync(heard, "utf8").trim().split("\n") : [];
      return found.length >= count ? found : undefined;
    });
  t.same(await lines(1), ["--ready"]);
  server.child.kill("SIGTERM");
  t.same(await lines(2), ["--ready", "--stopping"]);
  t.match(await server.ended, { code: 0 });
});
