/** The store's file is removed, replaced, truncated or overwritten under a running server. */
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { openWriteHandle } from "#storage/write/write-handle";
import { millrace } from "../support/command-line.ts";
import { startHardenedServer } from "./hardened-server.ts";

/** The promise is two seconds; the margin is for other load on the machine. */
const NOTICED_MS_MAX = 5_000;
const RUN = { flow: "flow", project: "project", module: "flow.ts", source_dir: "/nowhere" };

async function createRun(url: string): Promise<{ status: number; text: string }> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/api/runs`, { method: "POST", headers, body: JSON.stringify(RUN) });
  return { status: answer.status, text: await answer.text() };
}

/** Creates runs until one is refused; returns the refusal and its delay. */
async function refusal(url: string): Promise<{ status: number; text: string; ms: number }> {
  const begin = performance.now();
  for (;;) {
    const { status, text } = await createRun(url);
    const ms = performance.now() - begin;
    if (status !== 201 || ms > NOTICED_MS_MAX) return { status, text, ms };
  }
}

function freshHome(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-store-files-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "home");
}

const DAMAGES: Readonly<Record<string, { damage(store: string): void; says: RegExp }>> = {
  removed: { damage: (store) => rmSync(store), says: /db\.sqlite was removed or renamed/ },
  replaced: {
    damage: (store) => {
      copyFileSync(store, `${store}.other`);
      renameSync(`${store}.other`, store);
    },
    says: /db\.sqlite was replaced/,
  },
  truncated: { damage: (store) => truncateSync(store, 0), says: /db\.sqlite was truncated/ },
  // What SQLite does with the WAL when a thread opens its connection after the truncation.
  "truncated, whose WAL a new connection deleted,": {
    damage: (store) => {
      truncateSync(store, 0);
      rmSync(`${store}-wal`);
    },
    says: /db\.sqlite was truncated/,
  },
};

for (const [name, { damage, says }] of Object.entries(DAMAGES)) {
  t.test(`a store whose file was ${name} takes no writes any more, and the next start says so`, async (t) => {
    const home = freshHome(t);
    const store = join(home, "db.sqlite");
    const server = await startHardenedServer([], home);
    t.teardown(() => server.stop());
    t.equal((await createRun(server.url)).status, 201);
    damage(store);
    const { status, text, ms } = await refusal(server.url);
    t.equal(status, 503, `${text} after ${Math.round(ms)} ms`);
    t.match(text, says);
    t.match(await millrace("status", "--home", home), { code: 0, out: says });
    t.match(server.output(), says, "said on the terminal");
    await server.stop();
    t.throws(() => openWriteHandle(store, { durability: "normal" }), { message: /taken away from a server.*millrace restore/ });
    t.equal(existsSync(store), name !== "removed", "no empty store took its place");
  });
}

t.test("a store that was renamed and put back takes writes again", async (t) => {
  const home = freshHome(t);
  const store = join(home, "db.sqlite");
  const server = await startHardenedServer([], home);
  t.teardown(() => server.stop());
  renameSync(store, `${store}.away`);
  t.equal((await refusal(server.url)).status, 503);
  renameSync(`${store}.away`, store);
  while ((await createRun(server.url)).status !== 201) await new Promise((resolve) => setImmediate(resolve));
  t.notOk(existsSync(`${store}.problem`));
});

t.test("a start on a store whose middle was overwritten says what can be done", async (t) => {
  const home = freshHome(t);
  const store = join(home, "db.sqlite");
  mkdirSync(home, { mode: 0o700 });
  openWriteHandle(store, { durability: "normal" }).close();
  const file = openSync(store, "r+");
  writeSync(file, Buffer.alloc(statSync(store).size - 100, 0x5a), 0, undefined, 100);
  closeSync(file);
  await t.rejects(startHardenedServer([], home), /malformed[\s\S]*millrace restore/);
});
