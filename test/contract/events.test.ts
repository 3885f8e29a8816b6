/** Every event of the catalogue and every stream message occurs once, through HTTP, in the documented shape. */
import t from "tap";
import { CLOCK_STEP, EVENT_TABLE, MESSAGE_TABLE } from "../support/event-table.ts";
import { CAUGHT_UP_FLOW, EveryEvent } from "../support/every-event.ts";

interface Resource {
  kind: string;
  id: string;
  name: string;
}

interface StoredEvent {
  id: number;
  name: string;
  resource: Resource;
  related: Resource[];
  payload: Record<string, unknown>;
}

const sorted = (keys: Iterable<string>): string[] => [...keys].sort();

t.test("events and stream messages have the shapes of the interface", async (t) => {
  const scene = new EveryEvent();
  t.teardown(() => scene.end());
  await scene.happen();
  const page = await scene.call("GET", "/api/events?limit=1000&ascending=true");
  const events = page["items"] as StoredEvent[];

  await t.test("each event of the catalogue has happened, and all have its resource, related ones and payload", async (t) => {
    t.equal(page["next_cursor"], null, "none is left out");
    const names = new Set(events.map(({ name }) => name));
    t.same(
      sorted(names).filter((name) => !name.startsWith("kit.")),
      sorted(Object.keys(EVENT_TABLE).filter((name) => name !== CLOCK_STEP)),
    );
    for (const { name, resource, related, payload } of events) {
      const shape = EVENT_TABLE[name];
      if (shape === undefined) continue;
      const found = {
        resource: resource.kind,
        related: [...new Set(related.map(({ kind }) => kind))],
        payload: sorted(Object.keys(payload)),
      };
      t.same(found, shape, name);
      for (const each of [resource, ...related]) t.same(sorted(Object.keys(each)), ["id", "kind", "name"]);
    }
  });

  await t.test("the vocabulary says the same", async (t) => {
    const { events: entries } = await scene.call("GET", "/api/vocabulary");
    const told = (entries as { name: string; resource: string; payload_fields: string[] }[]).map((entry) => {
      return [entry.name, { resource: entry.resource, payload: sorted(entry.payload_fields) }];
    });
    const expected = Object.entries(EVENT_TABLE).map(([name, { resource, payload }]) => [name, { resource, payload }]);
    t.same(told, expected);
  });

  await t.test("each message of the stream was sent, in each of its forms and in no other", async (t) => {
    const heard = new Map<string, Set<string>>();
    for (const { event, data } of scene.messages) {
      const forms = heard.get(event) ?? new Set();
      heard.set(event, forms.add(sorted(Object.keys(data)).join(" ")));
    }
    const told = Object.entries(MESSAGE_TABLE).map(([name, forms]) => [
      name,
      sorted(forms.map((keys) => sorted(keys).join(" "))),
    ]);
    t.same(Object.fromEntries([...heard].map(([name, forms]) => [name, sorted(forms)])), Object.fromEntries(told));
  });

  await t.test("stored events are what the stream told", async (t) => {
    const stored = new Map(events.map((event) => [event.id, event]));
    // Catch-up after the restart changes the creator of this flow's runs.
    const isKept = ({ id, payload }: StoredEvent): boolean => stored.has(id) && payload["flow"] !== CAUGHT_UP_FLOW;
    const told = scene.messages
      .filter(({ event }) => event === "event.created")
      .map(({ data }) => data as unknown as StoredEvent);
    t.ok(told.filter(isKept).length > 80);
    for (const event of told.filter(isKept)) t.same(event, stored.get(event.id));
  });
});
