import { fileURLToPath } from "node:url";
import t from "tap";
import type { Run } from "#sdk/client/index";
import { millrace, startCommand } from "../support/command-line.ts";
import { serveFlows } from "../support/flow-server.ts";

const FLOWS = fileURLToPath(new URL("./cli-flows", import.meta.url));

t.test("what is done by hand", { timeout: 240_000 }, async (t) => {
  const { client, home, start, reached, happened } = await serveFlows(t, FLOWS);
  const cli = (...args: string[]) => millrace(...args, "--home", home);

  await t.test("a question is shown and answered", async (t) => {
    const { id } = await start("ask");
    await reached(id, "Paused");
    t.match(await cli("runs", "show", String(id)), {
      code: 0,
      out: new RegExp(`Paused {2}Publish\\?\nAnswer with: millrace runs input ${id} ANSWER\n`),
    });
    const shown = await cli("runs", "input", String(id));
    t.match(JSON.parse(shown.out), { question: { prompt: "Publish?", schema: { type: "object" } }, answers: [] });
    t.match(await cli("runs", "resume", String(id)), {
      code: 3,
      errors: `millrace: run ${id} waits for an answer: Publish?. Give it: millrace runs input ${id} ANSWER\n`,
    });
    t.match(await cli("runs", "input", String(id), "{}"), { code: 3, out: "", errors: /answer "publish" is required/ });
    const answer = '{"publish":true}';
    t.same(await cli("runs", "input", String(id), answer), {
      code: 0,
      out: `Run ${id} goes on with ${answer}.\n`,
      errors: "",
    });
    t.same((await client.waitFor(id)).result, { publish: true });
    t.match(await cli("runs", "input", String(id), "yes"), { code: 3, errors: /is Completed, not Paused/ });
    t.same(JSON.parse((await cli("runs", "input", String(id))).out), { question: null, answers: [{ publish: true }] });

    const again = JSON.parse((await cli("runs", "retry", String(id), "--json")).out) as Run;
    t.match(again, { parent_run_id: id, flow_name: "ask" });
    await reached(again.id, "Paused");
    t.match(await cli("runs", "cancel", String(again.id), String(id)), {
      code: 0,
      out: `Run ${again.id} is cancelled.\nRun ${id} had ended before: ● Completed\n`,
    });
  });

  await t.test("a run is paused, goes on from its start, and is removed", async (t) => {
    const { id } = await start("hold");
    await happened("manual.holding");
    t.match(await cli("runs", "rm", String(id)), { code: 3, errors: /is Running\. Cancel it first, or pass --force/ });
    t.match(await cli("runs", "pause", String(id)), { code: 0, out: /is paused/ });
    t.match(await cli("runs", "pause", String(id)), { code: 3, errors: /is Paused\. Only a Running run can be paused/ });
    t.match(await cli("runs", "resume", String(id)), { code: 0, out: `Run ${id} goes on.\n` });
    await happened("manual.holding");
    t.match(await cli("runs", "resume", String(id)), { code: 3, errors: /is Running, not Paused/ });
    t.match(await cli("runs", "rm", "--force", String(id)), { code: 0, out: `Run ${id} is removed.\n` });
    t.match(await cli("runs", "rm", String(id)), { code: 3, errors: /not found/ });
  });

  await t.test("artifacts are listed and shown", async (t) => {
    const { id } = await start("publish", { rows: 2 });
    await client.waitFor(id);
    const [image] = JSON.parse((await cli("artifacts", "ls", "--run", String(id), "--json")).out) as { id: number }[];
    t.match(
      (await cli("artifacts", "show", String(image?.id))).out,
      /^Dot\nimage of run \d+, cli-flows\/publish, .*\n\ndata:image\/png/,
    );
    t.match((await cli("artifacts", "ls", "--key", "rows")).out, /table {2}rows {2}Rows/);
    t.match(await cli("artifacts", "show", "99999"), { code: 3, errors: "millrace: there is no artifact 99999\n" });
  });

  await t.test("variables are set, read, revealed and removed", async (t) => {
    t.match(await cli("variables", "set", "etl/limit", "[1,2]", "--tag", "etl"), { code: 0, out: "etl/limit is set.\n" });
    t.match(await cli("variables", "set", "etl/limit", "3", "--no-overwrite"), { code: 3, errors: /etl\/limit exists/ });
    t.match(await cli("variables", "set", "key", "42", "--text", "--secret"), { out: "key is set, encrypted.\n" });
    t.equal((await cli("variables", "get", "key")).out, "********\n");
    t.equal((await cli("variables", "get", "key", "--reveal")).out, "42\n");
    t.match((await cli("variables", "ls")).out, /etl\/limit {2}\[1,2\] {3}etl .*\nkey {8}secret/);
    t.match(await cli("variables", "rm", "key", "etl/limit"), { out: "key is removed.\netl/limit is removed.\n" });
    t.match(await cli("variables", "get", "key"), { code: 3, errors: /not found/ });
  });

  await t.test("rules are listed, tried and switched, by id or name", async (t) => {
    const rule = await client.rules.create({
      name: "tell",
      when: { events: ["run.failed"], flows: ["publish"] },
      do: [{ kind: "webhook", url: "http://127.0.0.1:9/{{ run.name }}" }],
    });
    t.match((await cli("rules", "ls")).out, /tell {2}on {5}ui {6}run\.failed of publish {2}webhook http:/);
    t.match(await cli("rules", "test", "tell"), { code: 0, out: /^No event matches/ });
    t.match(await cli("rules", "disable", "tell"), { out: `Rule ${rule.id} (tell) is off.\n` });
    t.equal((await client.rules.get(rule.id)).enabled, false);
    t.match(await cli("rules", "enable", String(rule.id)), { out: /is on/ });
    await client.rules.create({ name: "tell", when: { events: ["never"] }, do: [{ kind: "cancel_run" }] });
    t.match(await cli("rules", "show", "tell"), {
      code: 3,
      errors: /several rules are called "tell"\. Name one by its id/,
    });
  });

  await t.test("events: the newest, and those that come", async (t) => {
    t.match(JSON.parse((await cli("events", "tail", "-n", "1", "--no-follow", "--json")).out), { id: Number });
    const following = startCommand(["events", "tail", "-n", "1", "--name", "manual.*", "--home", home]);
    await following.printed("manual.holding");
    await client.events.emit({ name: "other" });
    await client.events.emit({ name: "manual.told", payload: { rows: 3 } });
    await following.printed("manual.told");
    following.child.kill("SIGINT");
    t.equal((await following.ended).code, 0);
    t.match(following.text(), /manual\.told {2}\{"rows":3\}\n/);
    t.notMatch(following.text(), "other");
  });

  await t.test("--watch shows each state once, as lines of JSON if asked", async (t) => {
    const watching = startCommand(["runs", "ls", "--flow", "publish", "--json", "--watch", "--home", home]);
    await watching.until((text) => text.endsWith("\n"));
    const { id } = await start("publish", { rows: 1 });
    const shown = (text: string): string[] =>
      text
        .split("\n")
        .slice(0, -1)
        .map((line) => (JSON.parse(line) as Run[]).find((run) => run.id === id)?.state.name ?? "none");
    await watching.until((text) => shown(text).at(-1) === "Completed");
    watching.child.kill("SIGINT");
    t.equal((await watching.ended).code, 0);
    t.equal(shown(watching.text())[0], "none");
  });
});
