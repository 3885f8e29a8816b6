/** Links and threads with real worker threads. */
import t from "tap";
import { systemClock } from "#runtime/clock";
import type { Placement } from "#runtime/placement";
import { Supervisor } from "#runtime/supervisor";
import { Threads } from "#runtime/thread";

const PLACEMENT: Placement = {
  actors: { ann: "ann", bob: "bob" },
  endpoints: { arrivals: "main", "exit-reports": "main" },
  entry: new URL("../../support/thread-entry.ts", import.meta.url),
};

interface Arrival {
  content?: unknown;
  seen?: string[];
  started?: string;
  generation?: number;
  thread?: number;
}

/** Threads under a supervisor, and what arrives at main. */
async function setup() {
  const arrivals: Arrival[] = [];
  const waiting: { wanted: (arrival: Arrival) => boolean; resolve: (arrival: Arrival) => void }[] = [];
  const exits: [string, string][] = [];
  const threads: Threads = new Threads(PLACEMENT, {}, (name, error, counted) => {
    exits.push([name, error.message]);
    void supervisor.exited(name, error, counted);
  });
  const child = (name: string) => ({ kind: "worker", name, restart: "permanent", shutdownMs: 1000 }) as const;
  const supervisor = new Supervisor(
    {
      kind: "supervisor",
      name: "root",
      strategy: "one_for_one",
      intensity: 20,
      periodMs: 1000,
      children: [child("ann"), child("bob")],
    },
    threads,
    systemClock,
    { restarted: () => undefined, gaveUp: (error) => exits.push(["root", error.message]) },
  );
  threads.main.host.attach("arrivals", {
    deliver: (message) => {
      const arrival = message as Arrival;
      arrivals.push(arrival);
      for (const entry of waiting.filter(({ wanted }) => wanted(arrival))) {
        waiting.splice(waiting.indexOf(entry), 1);
        entry.resolve(arrival);
      }
    },
  });
  await threads.open();
  // Wait for the actors' own messages, which arrive independently of the end of the start, so that a later wait does not take
  // them for a restart.
  const told = Promise.all(
    ["ann", "bob"].map(
      (name) => new Promise<Arrival>((resolve) => waiting.push({ wanted: ({ started }) => started === name, resolve })),
    ),
  );
  await supervisor.start();
  await told;
  return {
    threads,
    arrivals,
    exits,
    /** Resolves with the next arrival that `wanted` accepts. */
    next: (wanted: (arrival: Arrival) => boolean) => new Promise<Arrival>((resolve) => waiting.push({ wanted, resolve })),
    send: (path: string[], content: unknown) => {
      const [first = "", ...rest] = path;
      threads.main.host.send(first, { path: rest, content, seen: [] });
    },
    close: async () => {
      await supervisor.stop();
      await threads.close();
    },
  };
}

t.test("messages cross threads in the order they were sent, also over two links", async (t) => {
  const { send, next, arrivals, close } = await setup();
  const last = next(({ content }) => content === "last");
  for (let index = 0; index < 5000; index += 1) send(["ann", "bob", "arrivals"], index);
  send(["ann", "bob", "arrivals"], "last");
  await last;
  const numbers = arrivals.map(({ content }) => content).filter((content) => typeof content === "number");
  t.same(
    numbers,
    Array.from({ length: 5000 }, (_, index) => index),
  );
  t.same(arrivals.at(-1)?.seen, ["ann", "bob"]);
  await close();
});

t.test("an actor that throws or is killed is started again on its thread; others go on", async (t) => {
  const { send, next, exits, threads, close } = await setup();
  const again = next(({ started }) => started === "ann");
  send(["ann"], "throw");
  t.match(await again, { generation: 2, thread: 1 });
  const third = next(({ started }) => started === "ann");
  await threads.kill("ann", "for the test");
  t.match(await third, { generation: 3, thread: 1 });
  t.same(exits, [
    ["ann", "ann threw"],
    ["ann", "for the test"],
  ]);
  const answer = next(({ content }) => content === "still here");
  send(["bob", "ann", "arrivals"], "still here");
  t.same((await answer).seen, ["bob", "ann"]);
  const figures = await threads.figures();
  t.match(
    figures.actors.find(({ name }) => name === "ann"),
    { state: "running", restarts: 2, last_error: "for the test" },
  );
  await close();
});

t.test("a thread that ends is started again with its links to every other thread", async (t) => {
  const { send, next, exits, threads, close } = await setup();
  for (const name of ["ann", "bob", "ann"]) {
    const again = next(({ started }) => started === name);
    await threads.terminate(name);
    t.match(await again, { generation: 1 });
    const round = next(({ content }) => content === `after ${exits.length}`);
    send(["ann", "bob", "ann", "bob", "arrivals"], `after ${exits.length}`);
    t.same((await round).seen, ["ann", "bob", "ann", "bob"]);
  }
  t.same(
    exits.map(([name]) => name),
    ["ann", "bob", "ann"],
  );
  t.match(exits[0]?.[1], /thread ann ended/);
  await close();
});

t.test("both threads end at once; calls that were under way do not hang", async (t) => {
  const { send, next, threads, close } = await setup();
  const both = Promise.all([next(({ started }) => started === "ann"), next(({ started }) => started === "bob")]);
  const figures = threads.figures();
  await Promise.all([threads.terminate("ann"), threads.terminate("bob")]);
  t.ok(Array.isArray((await figures).actors));
  await both;
  const round = next(({ content }) => content === "round");
  send(["ann", "bob", "arrivals"], "round");
  await round;
  await close();
});

t.test("a thread that hangs in a step can be ended and comes again", async (t) => {
  const { send, next, threads, close } = await setup();
  send(["bob"], "hang");
  const hung = threads.stop("bob", 50);
  await hung;
  const again = next(({ started }) => started === "bob");
  await threads.terminate("bob");
  t.match(await again, { thread: 2 });
  await close();
});

t.test("a thread that starts while another is down works, and reaches the other once that one has started", async (t) => {
  const ended: string[] = [];
  let arrived: (arrival: Arrival) => void = () => undefined;
  const next = () => new Promise<Arrival>((resolve) => (arrived = resolve));
  const down = Promise.withResolvers<void>();
  const threads = new Threads(PLACEMENT, {}, (name) => {
    ended.push(name);
    if (ended.length === 2) down.resolve();
  });
  threads.main.host.attach("arrivals", { deliver: (message) => arrived(message as Arrival) });
  const send = ([first = "", ...path]: string[]) => threads.main.host.send(first, { path, content: 1, seen: [] });
  const started = async (name: string) => {
    const arrival = next();
    await threads.start(name);
    t.match(await arrival, { started: name });
  };
  await threads.open();
  await Promise.all([threads.terminate("ann"), threads.terminate("bob")]);
  await down.promise;
  await started("ann");
  const own = next();
  send(["ann", "bob"]);
  send(["ann"]);
  t.match(await own, { seen: ["ann"] }, "the message to bob was dropped");
  await started("bob");
  const both = next();
  send(["ann", "bob"]);
  t.match(await both, { seen: ["ann", "bob"] });
  await threads.close();
});
