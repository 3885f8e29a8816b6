/** One command whose commit is a defect of the store, beside others, on a real server. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openWriteHandle } from "#storage/write/write-handle";
import { startHardenedServer } from "./hardened-server.ts";

/** Requests at a time: the defect shares its batch with some of them. */
const NEIGHBOURS = 60;

t.test("a command that cannot be stored is answered 500; those committed with it, and all later ones, are stored", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-defective-commit-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, "home");
  const first = await startHardenedServer([], home);
  await first.stop();
  const store = openWriteHandle(join(home, "db.sqlite"), { durability: "normal" });
  store.exec(
    `CREATE TRIGGER defect BEFORE INSERT ON variables WHEN NEW.name = 'defect' BEGIN SELECT RAISE(ABORT, 'a defect'); END`,
  );
  store.close();

  const server = await startHardenedServer([], home);
  t.teardown(() => server.stop());
  const { url } = server;
  const create = async (name: string): Promise<number> => {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}/api/variables`, { method: "POST", headers, body: JSON.stringify({ name, value: name }) });
    await answer.arrayBuffer();
    return answer.status;
  };
  const names = Array.from({ length: NEIGHBOURS }, (_, index) => (index === NEIGHBOURS / 2 ? "defect" : `neighbour-${index}`));
  const statuses = await Promise.all(names.map(create));
  t.same(
    statuses.map((status, index) => [names[index], status]),
    names.map((name) => [name, name === "defect" ? 500 : 201]),
  );
  t.equal(await create("later"), 201);
  t.equal(await create("defect"), 500, "alone");
  t.equal(await create("last"), 201);
  const data = (await (await fetch(`${url}/api/variables?limit=200`)).json()) as { name: string }[];
  t.same(data.map(({ name }) => name).sort(), [...names.filter((name) => name !== "defect"), "last", "later"].sort());
});
