/** Templates that try to take long, in rules of a running server: each action fails, everything else goes on. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { TEMPLATE_BOMBS } from "../support/template-bombs.ts";
import { ServedHome, until } from "./served-home.ts";

const MIB = 2 ** 20;
const PAYLOAD = { rows: Array.from({ length: 2_000 }, (_, row) => ({ row, text: "x".repeat(200) })) };

interface Firing {
  outcomes: { status: string; error?: string }[];
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
  const before = server.residentBytes();
  t.equal((await server.call("POST", "/api/events", { name: "kit.bomb", payload: PAYLOAD })).status, 201);
  t.equal((await server.call("GET", "/api/health")).status, 200);
  for (const id of rules) {
    const [firing] = await until(async () => {
      const { list } = await server.call<Firing>("GET", `/api/rules/${id}/firings`);
      return list.length > 0 ? list : null;
    });
    // On a very busy machine the time limit may come before the counted work.
    const failed = { status: "failed", error: /template error in body|took longer/ };
    t.match(firing?.outcomes, [failed, { status: "completed" }], `rule ${id}`);
  }
  t.ok(server.residentBytes() - before < 1_000 * MIB);
  t.equal(server.child.exitCode, null);
  const tested = await server.call("POST", `/api/rules/${rules[0]}/test`);
  t.match(tested.body, { actions: [{ error: /template error/ }, { rendered: { kind: "webhook" } }] });
});
