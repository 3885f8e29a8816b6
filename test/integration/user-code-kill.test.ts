/** A server killed with pending calls of user code: each is made after the restart, and the rule has fired once. */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { Millrace } from "#sdk/client/index";
import { CALLS, firings, newPlace, ruleNamed, until } from "../support/called-code.ts";
import { listening, type Started, serve, startCommand } from "../support/command-line.ts";

const CODE = `
  import { rule } from "millrace";
  import { go, note } from "${CALLS}";
  export const slow = rule("slow", { when: { events: ["kit.slow"], project: null }, once: "never" }, async (event) => {
    note("slow " + event.id);
    await go();
    return event.payload;
  });
`;

async function kill({ child }: Started): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

t.test("a server that is killed during a call, or between the commit and the call, makes it when it is back", async (t) => {
  const place = newPlace(t, CODE);
  const first = await serve(t, place.dir, place.home);
  const cut = await new Millrace({ home: place.home }).events.emit({ name: "kit.slow", payload: { n: 1 } });
  await until(() => place.calls().length > 0 || undefined);
  await kill(first);

  // The user-code process does not start, so no function is called, but the rules already exist.
  const gate = join(place.home, "gate.mjs");
  writeFileSync(
    gate,
    "if (process.argv[1]?.includes('user-code')) await new Promise(() => process.on('disconnect', () => process.exit()));",
  );
  const args = ["serve", place.dir, "--home", place.home, "--port", "0", "--no-open", "--no-engines"];
  const second = startCommand(args, { env: { NODE_OPTIONS: `--import=${gate}` } });
  t.teardown(() => second.child.kill("SIGKILL"));
  await listening(second, place.home);
  const client = new Millrace({ home: place.home });
  const stored = await client.events.emit({ name: "kit.slow", payload: { n: 2 } });
  const { id } = await ruleNamed(client, "slow");
  await until(async () => ((await client.rules.get(id)).fire_count === 2 ? true : undefined));
  t.same(place.calls(), [`slow ${cut.id}`], "decided and stored, not called");
  await kill(second);

  writeFileSync(join(place.dir, "go"), "");
  await serve(t, place.dir, place.home);
  const after = new Millrace({ home: place.home });
  const fired = await firings(after, "slow", 2);
  t.match(
    fired.map(({ event_id, outcomes }) => ({ event_id, outcomes })),
    [
      { event_id: stored.id, outcomes: [{ status: "completed", detail: { n: 2 } }] },
      { event_id: cut.id, outcomes: [{ status: "completed", detail: { n: 1 } }] },
    ],
  );
  t.same(place.calls().sort(), [`slow ${cut.id}`, `slow ${cut.id}`, `slow ${stored.id}`].sort(), "at least once");
  t.equal((await after.rules.get(id)).fire_count, 2, "the rule fired once for each");
});
