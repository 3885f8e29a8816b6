/** Durable runs on the command line: retried from a place, woken before their time. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import t from "tap";
import type { Run } from "#sdk/client/index";
import { millrace, startCommand } from "../support/command-line.ts";
import { serveFlows } from "../support/flow-server.ts";
import { testFolder } from "../support/test-folder.ts";

const FLOWS = fileURLToPath(new URL("./cli-flows", import.meta.url));

t.test("durable runs by hand", { timeout: 240_000 }, async (t) => {
  const { client, home, start, reached } = await serveFlows(t, FLOWS);
  const cli = (...args: string[]) => millrace(...args, "--home", home);
  const retried = async (id: number, ...args: string[]) =>
    JSON.parse((await cli("runs", "retry", String(id), ...args, "--json")).out) as Run;

  await t.test("a failed run goes on where it failed, or from where it is asked to", async (t) => {
    const folder = testFolder(t, {});
    const noted = () => readFileSync(`${folder}/noted`, "utf8").trimEnd().split("\n");
    const { id } = await start("fragile", { folder });
    t.equal((await client.waitFor(id)).run.state.name, "Failed");
    t.same(noted(), ["first", "second"]);
    writeFileSync(`${folder}/mended`, "");
    const again = await retried(id);
    t.equal((await client.waitFor(again.id)).result, "third");
    t.same(noted(), ["first", "second", "third"]);
    const [, second] = await client.runs.tasks(id);
    const from = await retried(id, "--from", second?.dynamic_key ?? "");
    t.equal((await client.waitFor(from.id)).result, "third");
    t.same(noted().slice(3), ["second", "third"]);
    const whole = await retried(id, "--from", "start");
    await client.waitFor(whole.id);
    t.same(noted().slice(5), ["first", "second", "third"]);
    t.match(await cli("runs", "retry", String(id), "--from", "note-9"), { code: 3, errors: /note-9/ });
  });

  await t.test("a sleeping run is woken", async (t) => {
    const { id } = await start("nap");
    await reached(id, "Sleeping");
    t.same(await cli("runs", "wake", String(id)), { code: 0, out: `Run ${id} goes on.\n`, errors: "" });
    t.equal((await client.waitFor(id)).result, "rested");
    t.match(await cli("runs", "wake", String(id)), { code: 3, out: "", errors: /Completed/ });
  });

  await t.test("the question of a durable run is shown wherever its run is", async (t) => {
    const { id } = await start("inquire");
    await reached(id, "Paused");
    const way = `Answer with: millrace runs input ${id} ANSWER`;
    t.match((await cli("runs", "show", String(id))).out, new RegExp(`Paused {2}Order the paint\\?\n${way}\n`));
    t.match(await cli("runs", "resume", String(id)), { code: 3, errors: /waits for an answer: Order the paint\?/ });
    const followed = startCommand(["run", "inquire", "--home", home]);
    await followed.printed("Paused: Order the paint?\nAnswer with: millrace runs input ");
    const asked = Number(/input (\d+) ANSWER/.exec(followed.text())?.[1]);
    for (const each of [id, asked]) t.match(await cli("runs", "input", String(each), "true"), { code: 0 });
    t.match(await followed.ended, { code: 0, out: /Result: true/ });
  });
});
