/** Templates that try to run long, in rules of a running server: each action fails, everything else continues. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { ServedHome, type ServedProcess, until } from "../support/served-home.ts";
import { TEMPLATE_BOMBS } from "../support/template-bombs.ts";

const MIB = 2 ** 20;
const PAYLOAD = { rows: Array.from({ length: 2_000 }, (_, row) => ({ row, text: "x".repeat(200) })) };

interface Firing {
  outcomes: { status: string; error?: string }[];
}

/** The same template in each field that is rendered. */
function inEveryField(url: string): Record<string, unknown>[] {
  const bomb = TEMPLATE_BOMBS["nested loops"];
  return [
    { kind: "webhook", url: `${url}${bomb}` },
    { kind: "webhook", url, headers: { "x-bomb": bomb } },
    { kind: "webhook", url, body: { deep: [{ deeper: bomb }] } },
    { kind: "run_flow", flow: "none", parameters: { a: { b: [bomb] } } },
    { kind: "set_state", state_type: "Failed", message: bomb },
    { kind: "email", to: ["a@example.org"], subject: bomb },
    { kind: "email", to: ["a@example.org"], subject: "s", body: bomb },
  ];
}

/** Continues to read and write; returns the different statuses of all answers. */
function answersMeanwhile(server: ServedProcess): { end: () => Promise<number[]> } {
  const statuses = new Set<number>();
  let goesOn = true;
  const asking = (async () => {
    for (; goesOn; ) {
      statuses.add((await server.call("GET", "/api/health")).status);
      statuses.add((await server.call("GET", "/api/runs")).status);
      statuses.add((await server.call("POST", "/api/variables", { name: "kit", value: 1 })).status);
    }
  })();
  const end = async (): Promise<number[]> => {
    goesOn = false;
    await asking;
    return [...statuses].sort();
  };
  return { end };
}

t.test("0 escapes and the server stays up", async (t) => {
  const receiver = createServer((_request, response) => response.end()).listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const home = new ServedHome();
  t.teardown(async () => {
    receiver.close();
    await home.remove();
  });
  const server = await home.serve();
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const createRule = async (name: string, body: string): Promise<number | null> => {
    const rule = {
      name,
      when: { events: ["kit.bomb"] },
      do: [
        { kind: "webhook", url, body },
        { kind: "webhook", url },
      ],
    };
    const answer = await server.call("POST", "/api/rules", rule);
    if (answer.status === 422) return null;
    t.equal(answer.status, 201, name);
    return Number(answer.body["id"]);
  };
  const rules: number[] = [];
  for (const [name, bomb] of Object.entries(TEMPLATE_BOMBS)) {
    const id = await createRule(name, bomb);
    if (id !== null) rules.push(id);
  }
  t.ok(rules.length > 15, "most are found only when they are rendered");
  const everywhere = await server.call("POST", "/api/rules", {
    name: "everywhere",
    when: { events: ["kit.bomb"] },
    do: inEveryField(url),
  });
  const before = server.residentBytes();
  t.equal((await server.call("POST", "/api/events", { name: "kit.bomb", payload: PAYLOAD })).status, 201);
  const answers = answersMeanwhile(server);
  for (const id of rules) {
    const [firing] = await until(async () => {
      const { list } = await server.call<Firing>("GET", `/api/rules/${id}/firings`);
      return list.length > 0 ? list : null;
    });
    // On a very busy machine the time limit may be reached before the limit on counted work.
    const failed = { status: "failed", error: /template error in body|took longer/ };
    t.match(firing?.outcomes, [failed, { status: "completed" }], `rule ${id}`);
  }
  const [firing] = await until(async () => {
    const { list } = await server.call<Firing>("GET", `/api/rules/${everywhere.body["id"]}/firings`);
    return list[0]?.outcomes.length === inEveryField(url).length ? list : null;
  });
  for (const outcome of firing?.outcomes ?? []) t.match(outcome, { status: "failed", error: /template error|took longer/ });
  t.same(await answers.end(), [200, 201], "other requests are answered during the rendering");
  t.ok(server.residentBytes() - before < 1_000 * MIB);
  t.equal(server.child.exitCode, null);
  const tested = await server.call("POST", `/api/rules/${rules[0]}/test`);
  t.match(tested.body, { actions: [{ error: /template error/ }, { rendered: { kind: "webhook" } }] });
});
