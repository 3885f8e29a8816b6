import t from "tap";
import type { Actor, ActorSpec } from "#runtime/actor";
import type { Outbox } from "#runtime/effect";
import { Host, STALL_US, type Stall } from "#runtime/host";
import { ManualTime } from "../../support/manual-time.ts";

function setup() {
  const time = new ManualTime();
  const exits: [string, string][] = [];
  const deferred: (() => void)[] = [];
  const stalls: Stall[] = [];
  const host = new Host({
    clock: { nowUs: time.now, monotonicUs: time.now },
    alarm: time.alarm(),
    defer: (turn) => deferred.push(turn),
    exited: (name, error) => exits.push([name, error.message]),
    stalled: (stall) => stalls.push(stall),
  });
  const outside: unknown[] = [];
  let flushes = 0;
  host.attach("outside", {
    deliver: (message) => outside.push(message),
    flush: () => {
      flushes += 1;
    },
  });
  const run = () => {
    for (let turn = deferred.shift(); turn !== undefined; turn = deferred.shift()) turn();
  };
  return { host, time, exits, stalls, outside, run, deferred, flushes: () => flushes };
}

/** An actor made of one function. */
function actor(name: string, receive: (message: unknown, out: Outbox) => void, more: Partial<ActorSpec> = {}): ActorSpec {
  return { name, start: () => ({ receive }) satisfies Actor, ...more };
}

function figure(host: Host, name: string) {
  const found = host.figures().find((figures) => figures.name === name);
  if (found === undefined) throw new Error(`no actor ${name}`);
  return found;
}

t.test("effects happen after the step, in order; sends of one turn leave together", async (t) => {
  const { host, outside, run, flushes } = setup();
  const seen: unknown[] = [];
  host.register(
    actor("a", (message, out) => {
      out.send("outside", `${message}1`);
      out.send("b", message);
      out.send("outside", `${message}2`);
      t.equal(outside.length % 2, 0, "nothing has left yet");
    }),
  );
  host.register(actor("b", (message) => seen.push(message)));
  await host.start("a");
  await host.start("b");
  host.send("a", "x");
  host.send("a", "y");
  t.same(seen, [], "a send does not run anything by itself");
  run();
  t.same(outside, ["x1", "x2", "y1", "y2"]);
  t.same(seen, ["x", "y"]);
  t.equal(flushes(), 1);
});

t.test("nothing of a throwing step leaves; the actor is crashed and keeps what waits", async (t) => {
  const { host, outside, exits, run, time } = setup();
  host.register(
    actor("a", (message, out) => {
      out.send("outside", message);
      out.setTimer("t", time.nowUs + 5, "timer");
      if (message === "bad") throw new Error("broken");
    }),
  );
  await host.start("a");
  for (const message of ["good", "bad", "after"]) host.send("a", message);
  run();
  t.same(outside, ["good"]);
  t.same(exits, [["a", "broken"]]);
  t.match(figure(host, "a"), { state: "crashed", mailbox_depth: 1, handled: 1, last_error: "broken", restarts: 0 });
  time.pass(100);
  run();
  t.same(outside, ["good"], "its timers went with it");
  await host.stop("a");
  await host.start("a");
  run();
  t.same(outside, ["good", "after"], "the message that killed it does not come again");
  t.match(figure(host, "a"), { state: "running", restarts: 1, mailbox_depth: 0 });
});

t.test("something thrown that is no error is told as well", async (t) => {
  const { host, exits, run } = setup();
  host.register(
    actor("a", () => {
      throw "text";
    }),
  );
  await host.start("a");
  host.send("a", 1);
  run();
  t.same(exits, [["a", "text"]]);
});

t.test("messages wait while an actor starts; what its start asks for comes first", async (t) => {
  const { host, outside, run } = setup();
  const gate = Promise.withResolvers<Actor>();
  host.register({
    name: "slow",
    start: (_context, out) => {
      out.send("outside", "started");
      return gate.promise;
    },
  });
  const starting = host.start("slow");
  host.send("slow", "early");
  run();
  t.equal(figure(host, "slow").state, "starting");
  t.same(outside, []);
  gate.resolve({ receive: (message, out) => out.send("outside", message) });
  await starting;
  run();
  t.same(outside, ["started", "early"]);
});

t.test("a start that fails is told to the caller and leaves nothing", async (t) => {
  const { host, outside } = setup();
  host.register({
    name: "a",
    start: (_context, out) => {
      out.send("outside", 1);
      throw new Error("no store");
    },
  });
  await t.rejects(host.start("a"), { message: "no store" });
  t.same(outside, []);
  t.match(figure(host, "a"), { state: "crashed", last_error: "no store" });
});

t.test("`failed` says what to send for the message that killed; a kill kills without a message", async (t) => {
  const { host, outside, exits, run } = setup();
  host.register(
    actor(
      "a",
      (message) => {
        throw new Error(`about ${message}`);
      },
      { failed: (message, error, out) => out.send("outside", { message, error: error.message }) },
    ),
  );
  await host.start("a");
  host.send("a", 7);
  run();
  t.same(outside, [{ message: 7, error: "about 7" }]);
  await host.stop("a");
  await host.start("a");
  host.send("a", "ordinary, behind");
  host.kill("a", "test");
  run();
  t.same(exits.at(-1), ["a", "test"]);
  t.equal(outside.length, 1);
  t.equal(figure(host, "a").mailbox_depth, 1);
});

t.test("`resent` messages are dropped at a restart, at the first start they are not", async (t) => {
  const { host, run } = setup();
  const seen: unknown[] = [];
  host.register(actor("a", (message) => seen.push(message), { resent: (message) => String(message).startsWith("again") }));
  host.send("a", "again 1");
  await host.start("a");
  run();
  await host.stop("a");
  host.send("a", "again 2");
  host.send("a", "kept");
  await host.start("a");
  run();
  t.same(seen, ["again 1", "kept"]);
});

t.test("a crashed actor still releases what it holds when it is stopped", async (t) => {
  const { host, run } = setup();
  let open = 0;
  host.register({
    name: "a",
    start: () => {
      open += 1;
      return {
        receive: () => {
          throw new Error("broken");
        },
        stop: () => {
          open -= 1;
        },
      };
    },
  });
  await host.start("a");
  host.send("a", 1);
  run();
  t.equal(open, 1);
  await host.stop("a");
  t.equal(open, 0);
  await host.stop("a");
  t.equal(open, 0, "once");
  await host.start("a");
  t.equal(open, 1);
});

t.test("an actor receives messages and timers until its stop has resolved; the rest waits for its next life", async (t) => {
  const { host, time, run } = setup();
  const seen: unknown[] = [];
  let stops = 0;
  const gate = Promise.withResolvers<void>();
  host.register({
    name: "a",
    start: () => ({
      receive: (message, out) => {
        seen.push(message);
        if (message !== "go") return;
        out.setTimer("soon", time.nowUs + 10, "timer");
        out.setTimer("late", time.nowUs + 1000, "never");
      },
      stop: () => {
        stops += 1;
        return gate.promise;
      },
    }),
  });
  await host.start("a");
  host.send("a", "go");
  run();
  const stopped = [host.stop("a"), host.stop("a")];
  t.equal(figure(host, "a").state, "stopping");
  host.send("a", "answer");
  time.pass(20);
  t.same(host.runnable(), ["a"]);
  run();
  t.same(seen, ["go", "answer", "timer"]);
  gate.resolve();
  await Promise.all(stopped);
  t.equal(stops, 1, "once");
  host.send("a", "later");
  time.pass(2000);
  run();
  t.same(seen, ["go", "answer", "timer"]);
  t.match(figure(host, "a"), { state: "stopped", mailbox_depth: 1 });
  await host.start("a");
  run();
  t.same(seen, ["go", "answer", "timer", "later"]);
});

t.test("an actor that crashes while it stops is reported and receives nothing more", async (t) => {
  const { host, exits, run } = setup();
  const gate = Promise.withResolvers<void>();
  const seen: unknown[] = [];
  const receive = (message: unknown) => {
    seen.push(message);
    throw new Error("broken");
  };
  host.register({ name: "a", start: () => ({ receive, stop: () => gate.promise }) });
  await host.start("a");
  const stopped = host.stop("a");
  host.send("a", 1);
  host.send("a", 2);
  run();
  t.same(seen, [1]);
  t.same(exits, [["a", "broken"]]);
  gate.resolve();
  await stopped;
  t.match(figure(host, "a"), { state: "crashed", mailbox_depth: 1 });
});

t.test("a stop that takes too long does not disturb the next life", async (t) => {
  const { host, time, run } = setup();
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  let lives = 0;
  host.register({
    name: "a",
    start: () => {
      lives += 1;
      const life = lives;
      return {
        receive: (message, out) => {
          seen.push(`${life} ${message}`);
          out.setTimer("t", time.nowUs + 10, "timer");
        },
        stop: () => gate.promise,
      };
    },
  });
  await host.start("a");
  host.send("a", "one");
  run();
  const stopped = host.stop("a");
  await host.start("a");
  time.pass(20);
  host.send("a", "two");
  run();
  gate.resolve();
  await stopped;
  time.pass(20);
  run();
  t.same(seen, ["1 one", "2 two", "2 timer"], "timers of the former life are gone, those of the new one stay");
  t.equal(figure(host, "a").state, "running");
});

t.test("a full mailbox drops and counts", async (t) => {
  const { host } = setup();
  host.register(actor("a", () => undefined, { mailboxMax: 2 }));
  for (let index = 0; index < 5; index += 1) host.send("a", index);
  t.match(figure(host, "a"), { mailbox_depth: 2, dropped: 3 });
});

t.test("one actor cannot keep the thread: others get their share, links are flushed between turns", async (t) => {
  const { host, deferred } = setup();
  const order: string[] = [];
  host.register(
    actor("busy", (_message, out) => {
      order.push("busy");
      out.send("busy", 1);
    }),
  );
  host.register(actor("other", () => order.push("other")));
  await host.start("busy");
  await host.start("other");
  host.send("busy", 1);
  host.send("other", 1);
  deferred.shift()?.();
  t.ok(order.indexOf("other") <= 256, `the other was served after ${order.indexOf("other")} messages`);
  t.ok(order.length <= 2049, "a turn ends");
  t.equal(deferred.length, 1, "the next one is due");
});

t.test("timers: set, replaced, cancelled, and gone when the actor stops", async (t) => {
  const { host, time, run } = setup();
  const seen: unknown[] = [];
  host.register(
    actor("a", (message, out) => {
      seen.push(message);
      if (message !== "go") return;
      out.setTimer("x", time.nowUs + 10, "first");
      out.setTimer("x", time.nowUs + 20, "second");
      out.setTimer("y", time.nowUs + 15, "never");
      out.cancelTimer("y");
      out.setTimer("z", time.nowUs + 100, "too late");
    }),
  );
  await host.start("a");
  host.send("a", "go");
  run();
  time.pass(50);
  run();
  t.same(seen, ["go", "second"]);
  await host.stop("a");
  time.pass(100);
  await host.start("a");
  run();
  t.same(seen, ["go", "second"]);
});

t.test("sending to an unknown name is a defect; so is registering twice", async (t) => {
  const { host } = setup();
  t.throws(() => host.send("missing", 1), /no actor is called missing/);
  host.register(actor("a", () => undefined));
  t.throws(() => host.register(actor("a", () => undefined)), /twice/);
  await t.rejects(host.start("unknown"), /not registered/);
});

t.test("an actor that sends to an unknown name crashes; the other actors of the thread go on", async (t) => {
  const { host, run, exits } = setup();
  const seen: unknown[] = [];
  host.register(actor("a", (_message, out) => out.send("missing", 1)));
  host.register(actor("b", (message) => seen.push(message)));
  await host.start("a");
  await host.start("b");
  host.send("a", "go");
  host.send("b", "same turn");
  run();
  host.send("b", "later turn");
  run();
  t.same(seen, ["same turn", "later turn"]);
  t.match(exits, [["a", "no actor is called missing"]]);
});

t.test("a simulation steps actors by hand", async (t) => {
  const { host } = setup();
  const seen: unknown[] = [];
  host.register(actor("a", (message) => seen.push(message)));
  host.register(actor("b", (message) => seen.push(message)));
  await host.start("a");
  host.send("a", 1);
  host.send("a", 2);
  host.send("b", 3);
  t.same(host.runnable(), ["a"], "b has not started");
  host.step("a");
  t.same(seen, [1]);
});

t.test("a timer that an actor sets while it starts runs out in time, although the clock is set back meanwhile", async (t) => {
  const time = new ManualTime();
  let backUs = 0;
  const nowUs = (): number => time.now() - backUs;
  const host = new Host({
    clock: { nowUs, monotonicUs: time.now },
    alarm: time.alarm(),
    defer: (turn) => turn(),
    exited: () => undefined,
  });
  const started = Promise.withResolvers<Actor>();
  host.register({
    name: "a",
    start: (context, out) => {
      out.setTimer("look", context.nowUs() + 500, "look");
      return started.promise;
    },
  });
  const starting = host.start("a");
  backUs = 3_600_000_000;
  started.resolve({ receive: () => undefined });
  await starting;
  t.equal(host.nextTimerUs(), nowUs() + 500);
});

t.test("timers that a step sets run out in time, although the clock is set back during the step", async (t) => {
  const time = new ManualTime();
  let backUs = 0;
  const nowUs = (): number => time.now() - backUs;
  const host = new Host({
    clock: { nowUs, monotonicUs: time.now },
    alarm: time.alarm(),
    defer: () => undefined,
    exited: () => undefined,
  });
  host.register(
    actor("a", (message, out) => {
      const readUs = nowUs();
      if (message === "set back") backUs = 3_600_000_000;
      out.setTimer("first", readUs + 500, "first");
      out.setTimer("second", readUs + 300, "second");
    }),
  );
  await host.start("a");
  host.send("a", "plain");
  host.turn();
  t.equal(host.nextTimerUs(), nowUs() + 300);
  host.send("a", "set back");
  host.turn();
  t.equal(host.nextTimerUs(), nowUs() + 300, "not an hour later");
});

t.test("what a flush sends leaves in the same turn, also by a link that was flushed before", async (t) => {
  const { host, outside, deferred, flushes } = setup();
  const sentOn: unknown[] = [];
  const gatherer = { waiting: [] as unknown[] };
  host.attach("gatherer", {
    deliver: (message) => gatherer.waiting.push(message),
    flush: () => {
      for (const message of gatherer.waiting.splice(0)) {
        sentOn.push(message);
        host.send("outside", message);
      }
    },
  });
  host.register(
    actor("a", (message, out) => {
      out.send("outside", "first");
      out.send("gatherer", message);
    }),
  );
  await host.start("a");
  host.send("a", "x");
  deferred.shift()?.();
  t.same(sentOn, ["x"]);
  t.same(outside, ["first", "x"]);
  t.equal(flushes(), 2, "the link was flushed again");
});

t.test("work that holds the thread for too long is named, in steps and outside of them", async (t) => {
  const { host, run, time, stalls } = setup();
  host.register(actor("a", (message) => time.pass((message as { us: number }).us)));
  await host.start("a");
  for (const us of [STALL_US, STALL_US + 1]) host.send("a", { kind: `Work${us}`, us });
  run();
  const slow = { actor: "a", what: "Work250001", tookUs: STALL_US + 1 };
  t.same(stalls, [slow]);
  t.match(figure(host, "a"), { stalls: 1, last_stall: "Work250001: 250 ms" });
  host.held("a", "POST /api/runs", STALL_US);
  host.held("a", "POST /api/runs", 2_000_000);
  t.same(stalls, [slow, { actor: "a", what: "POST /api/runs", tookUs: 2_000_000 }]);
  t.match(figure(host, "a"), { stalls: 2, last_stall: "POST /api/runs: 2000 ms" });
});

t.test("a turn ends after twenty milliseconds, so that I/O of the thread is served between long steps", async (t) => {
  const { host, time, deferred, flushes } = setup();
  const seen: unknown[] = [];
  host.register(
    actor("slow", (message, out) => {
      seen.push(message);
      out.send("outside", message);
      time.pass(15_000);
    }),
  );
  await host.start("slow");
  for (const message of [1, 2, 3, 4, 5]) host.send("slow", message);
  deferred.shift()?.();
  t.same(seen, [1, 2]);
  t.equal(flushes(), 1, "what the turn decided has left");
  t.equal(deferred.length, 1, "the rest comes with the next turn");
  deferred.shift()?.();
  t.same(seen, [1, 2, 3, 4]);
});
