import t from "tap";
import { OutstandingCommands } from "#gateway/commands/outstanding-commands";
import { BodyBudget } from "#gateway/request/body-budget";
import type { Command, CommandKind, CommandNotice } from "#protocol/wire/command";
import { ManualTime } from "../../support/manual-time.ts";
import { RecordedExchange } from "../../support/recorded-exchange.ts";

type Sent = Command | CommandNotice;

function isNotice(message: Sent): message is CommandNotice {
  return "command" in message;
}

function setup(epoch = 1) {
  const time = new ManualTime();
  const sent: Sent[] = [];
  const commands = new OutstandingCommands({
    send: (_actor, message) => sent.push(message),
    now: time.now,
    alarm: time.alarm(),
    latestSeq: () => 77,
    awaitEnd: () => undefined,
    renderEvent: (id) => `{"id":${id}}`,
    firstId: 1000,
    bodies: new BodyBudget(),
  });
  if (epoch > 0) commands.reloaded(epoch);
  const submit = (kind: CommandKind, waitMs: number | null = null, bytes = 10) => {
    const exchange = new RecordedExchange({ method: "POST" });
    commands.bodies.takeBytes(bytes, 0);
    const waitUs = waitMs === null ? null : waitMs * 1000;
    commands.submit({ kind, target: 5, body: "{}", bytes, waitUs, idempotency: null }, exchange);
    return exchange;
  };
  const commandsSent = () => sent.filter((message): message is Command => !isNotice(message));
  const notices = () => sent.filter(isNotice);
  return { time, sent, commands, submit, commandsSent, notices };
}

t.test("a command is sent once with the epoch and answered from the feed", async (t) => {
  const { commands, submit, commandsSent } = setup(3);
  const exchange = submit("CancelRun");
  t.match(commandsSent(), [{ kind: "CancelRun", id: 1000, epoch: 3, target: 5, body: "{}", local: true }]);
  commands.settle([1000, 200, '{"id":5}']);
  t.equal(exchange.status, 200);
  t.same(exchange.json(), { id: 5 });
  t.equal(commands.size, 0);
  commands.settle([1000, 500, "{}"]);
  t.equal(exchange.status, 200, "a second answer is ignored");
});

t.test("before the first core commands are held, then sent in order", async (t) => {
  const { commands, submit, commandsSent } = setup(0);
  submit("CreateRun");
  submit("TransitionRun");
  t.equal(commandsSent().length, 0);
  commands.reloaded(1);
  t.same(
    commandsSent().map(({ kind }) => kind),
    ["CreateRun", "TransitionRun"],
  );
});

t.test("a restart of the core sends what is unanswered again, and only that", async (t) => {
  const { commands, submit, commandsSent } = setup(1);
  submit("CreateRun");
  const second = submit("CancelRun");
  commands.settle([1000, 201, "{}"]);
  const before = commandsSent().at(-1);
  commands.reloaded(2);
  const again = commandsSent().at(-1);
  t.equal(commandsSent().length, 3);
  t.match(again, { id: 1001, epoch: 2, kind: "CancelRun" });
  t.not(again, before, "a new message: the old one may not have left this thread yet");
  t.equal(before?.epoch, 1);
  commands.settle([1001, 200, "{}"]);
  t.equal(second.status, 200);
});

t.test("without a core a command gets 503 with Retry-After after 5 s, a transition is cut after 25 s", async (t) => {
  const { time, submit } = setup(0);
  const create = submit("CreateRun");
  const transition = submit("TransitionRun");
  time.pass(4_900_000);
  t.ok(create.open);
  time.pass(200_000);
  t.equal(create.status, 503);
  t.ok(create.headers.includes("retry-after"));
  t.type((create.json() as { error: string }).error, "string");
  time.pass(19_000_000);
  t.ok(transition.open);
  time.pass(2_000_000);
  t.ok(transition.wasCut);
});

t.test("what a core has seen is never refused: its connection is cut after 25 s", async (t) => {
  const { time, submit, commands } = setup(1);
  const create = submit("CreateRun");
  time.pass(24_000_000);
  t.ok(create.open);
  time.pass(2_000_000);
  t.ok(create.wasCut);
  t.equal(create.status, 0);
  commands.settle([1000, 201, "{}"]);
  t.equal(commands.size, 0);
});

t.test("a read-only store refuses writes at once, lets reads pass and holds transitions", async (t) => {
  const { commands, submit, commandsSent } = setup(1);
  commands.readOnly({ kind: "ReadOnly", on: true, status: 507, error: "disk is full", since: 7 });
  const create = submit("CreateRun");
  t.equal(create.status, 507);
  t.match((create.json() as { error: string }).error, /disk is full/);
  submit("GetServer");
  const report = submit("Report");
  t.equal(report.status, 503, "which engines repeat");
  const transition = submit("TransitionRun");
  t.same(
    commandsSent().map(({ kind }) => kind),
    ["GetServer"],
  );
  t.ok(transition.open);
  commands.readOnly({ kind: "ReadOnly", on: false, status: 507, error: "", since: 7 });
  t.equal(commandsSent().at(-1)?.kind, "TransitionRun");
  t.equal(submit("CreateRun").status, 0);
});

t.test("a silent store refuses what comes, and what was decided waits for its answer", async (t) => {
  const { commands, submit } = setup(1);
  const create = submit("CreateRun");
  const poll = submit("Work", 30_000);
  commands.readOnly({ kind: "ReadOnly", on: true, status: 503, error: "no connection", since: 7, silent: true });
  t.ok(create.open, "the run may be stored");
  t.ok(poll.open);
  t.equal(submit("CreateRun").status, 503);
  const read = submit("GetServer");
  t.equal(read.status, 503, "an answer would wait behind the commit");
  t.match(read.json(), { error: "the store cannot be read: no connection" });
  commands.readOnly({ kind: "ReadOnly", on: false, status: 503, error: "", since: 7 });
  commands.settle([1000, 201, "{}"]);
  t.equal(create.status, 201);
});

t.test(
  "writes in flight when the store becomes read-only are refused at once, transitions are cut within a second",
  async (t) => {
    const { time, commands, submit, commandsSent } = setup(1);
    const create = submit("CreateRun");
    const poll = submit("Work", 30_000);
    const transition = submit("TransitionRun");
    commands.readOnly({ kind: "ReadOnly", on: true, status: 503, error: "I/O error", since: 7 });
    t.equal(create.status, 503);
    t.equal(poll.status, 503);
    t.ok(transition.open);
    commands.reloaded(2);
    t.equal(commandsSent().length, 3);
    const later = submit("TransitionRun");
    time.pass(900_000);
    t.ok(later.wasCut);
    t.ok(transition.wasCut);
    submit("TransitionRun");
    commands.readOnly({ kind: "ReadOnly", on: false, status: 503, error: "", since: 7 });
    t.match(commandsSent().at(-1), { kind: "TransitionRun", epoch: 2 });
  },
);

t.test("a long-poll expires after its own time and is answered by the core", async (t) => {
  const { time, commands, submit, notices } = setup(1);
  const poll = submit("Work", 10_000);
  time.pass(9_900_000);
  t.same(notices(), []);
  time.pass(200_000);
  t.same(notices(), [{ kind: "Expired", epoch: 1, command: 1000 }]);
  commands.settle([1000, 200, '{"run":null,"exit":false}']);
  t.equal(poll.status, 200);
  time.pass(60_000_000);
  t.equal(notices().length, 1);
});

t.test("a long-poll without waiting time expires at once", async (t) => {
  const { submit, notices } = setup(1);
  submit("AcquireLease", 0);
  t.match(notices(), [{ kind: "Expired" }]);
});

t.test("an expired poll that was held is expired again with its replay", async (t) => {
  const { time, commands, submit, sent } = setup(1);
  submit("Work", 1000);
  time.pass(1_100_000);
  commands.reloaded(2);
  t.match(sent.slice(-2), [
    { kind: "Work", epoch: 2 },
    { kind: "Expired", epoch: 2, command: 1000 },
  ]);
});

t.test("a poll whose client left is abandoned, and an answer on its way comes back", async (t) => {
  const { commands, submit, notices } = setup(1);
  submit("Work", 30_000).leave();
  t.same(notices(), [{ kind: "Abandoned", epoch: 1, command: 1000 }]);
  commands.settle([1000, 200, '{"run":{}}']);
  t.same(notices().at(-1), { kind: "Undelivered", epoch: 1, command: 1000 });
  t.equal(commands.size, 0);
});

t.test("a departed client's command is not sent again and is forgotten in the end", async (t) => {
  const { time, commands, submit, commandsSent } = setup(1);
  submit("CreateRun").leave();
  submit("CreateRun").leave();
  t.equal(commands.size, 2);
  commands.reloaded(2);
  t.equal(commandsSent().length, 2);
  t.equal(commands.size, 0);
  submit("CreateRun").leave();
  time.pass(31_000_000);
  t.equal(commands.size, 0);
});

t.test("bodies count until their request is answered", async (t) => {
  const { commands, submit } = setup(1);
  const half = 128 * 1024 * 1024;
  const first = submit("Report", null, half);
  submit("Report", null, half);
  t.notOk(commands.bodies.takeBytes(1, 0), "all memory for bodies is taken");
  commands.settle([1000, 200, "{}"]);
  t.equal(first.status, 200);
  t.ok(commands.bodies.takeBytes(half, 0));
});

t.test("beyond what is decided within half a second requests are refused, but for long-polls; transitions are cut", async (t) => {
  const { commands, submit } = setup(1);
  const accepted = Array.from({ length: 10_000 }, () => submit("CancelRun"));
  t.ok(accepted.every(({ open }) => open));
  const refused = submit("CancelRun");
  t.equal(refused.status, 503);
  t.ok(refused.headers.includes("retry-after"));
  t.equal(submit("Report").status, 503);
  t.ok(submit("TransitionRun").wasCut);
  t.ok(submit("Work", 30_000).open, "an engine may wait for work");
  commands.settle([1000, 200, "{}"]);
  t.ok(submit("CancelRun").open, "an answer makes room");
});

t.test("server information carries the newest stream number", async (t) => {
  const { commands, submit } = setup(1);
  const exchange = submit("GetServer");
  commands.settle([1000, 200, '{"version":"1","stream_seq":0}']);
  t.same(exchange.json(), { version: "1", stream_seq: 77, store_problem: null });
});

t.test(
  "a stop expires what waits for a lease, leaves polls for work to the core, refuses the rest and waits for answers",
  async (t) => {
    const { commands, submit, notices, commandsSent } = setup(1);
    const poll = submit("Work", 30_000);
    const lease = submit("AcquireLease", 30_000);
    const stopped = commands.stop(60_000);
    t.match(notices(), [{ kind: "Expired", command: 1001 }]);
    t.equal(submit("CreateRun").status, 409);
    t.equal(submit("AcquireLease", 30_000).status, 503);
    t.ok(submit("TransitionRun").wasCut, "an engine takes 503 on a transition as final");
    const late = submit("Work", 30_000);
    t.match(commandsSent(), [{ id: 1000 }, { id: 1001 }, { id: 1002, kind: "Work" }]);
    const leave = '{"run":null,"exit":true}';
    commands.settle([1000, 200, leave, 1001, 200, '{"lease":null}', 1002, 200, leave]);
    await stopped;
    for (const answered of [poll, late]) t.same(answered.json(), { run: null, exit: true });
    t.same(lease.json(), { lease: null });
    t.equal(submit("Work", 30_000).status, 503, "no core would answer the poll any more");
  },
);

t.test("a stop does not wait for ever", async (t) => {
  const { commands, submit } = setup(1);
  const poll = submit("Work", 30_000);
  const create = submit("CreateRun");
  await commands.stop(1);
  t.equal(poll.status, 503);
  t.ok(create.wasCut);
});
