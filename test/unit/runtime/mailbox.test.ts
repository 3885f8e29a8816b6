import fc from "fast-check";
import t from "tap";
import { LANES, type Lane, Mailbox } from "#runtime/mailbox";

t.test("lanes are taken in their order, first in first out within a lane", async (t) => {
  const mailbox = new Mailbox();
  for (const lane of ["ordinary", "supervision", "ordinary", "stop", "kill", "kill"] as const) {
    mailbox.put(`${lane}${mailbox.depth}`, lane);
  }
  const taken: unknown[] = [];
  for (let next = mailbox.take(); next !== undefined; next = mailbox.take()) taken.push(next.message);
  t.same(taken, ["kill4", "kill5", "stop3", "supervision1", "ordinary0", "ordinary2"]);
});

t.test("a full ordinary lane refuses, the others never do", async (t) => {
  const mailbox = new Mailbox(2);
  t.ok(mailbox.put(1, "ordinary"));
  t.ok(mailbox.put(2, "ordinary"));
  t.notOk(mailbox.put(3, "ordinary"));
  for (const lane of ["kill", "stop", "supervision"] as const) t.ok(mailbox.put(lane, lane));
  for (let index = 0; index < 4; index += 1) mailbox.take();
  t.ok(mailbox.put(4, "ordinary"), "there is room again");
  t.equal(mailbox.depth, 2);
});

t.test("removing takes chosen ordinary messages and leaves the order of the rest", async (t) => {
  const mailbox = new Mailbox();
  for (let index = 0; index < 6; index += 1) mailbox.put(index, "ordinary");
  mailbox.put(1, "stop");
  mailbox.take();
  mailbox.take();
  t.same(
    mailbox.remove((message) => Number(message) % 2 === 1),
    [1, 3, 5],
  );
  t.same([mailbox.take()?.message, mailbox.take()?.message, mailbox.take()], [2, 4, undefined]);
});

t.test("it behaves as four plain queues, also over many messages", async () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.record({ put: fc.constantFrom<Lane>(...LANES), times: fc.integer({ min: 1, max: 3000 }) }) },
    { weight: 2, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 6000 }) }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const mailbox = new Mailbox(5000);
      const model: Record<Lane, number[]> = { kill: [], stop: [], supervision: [], ordinary: [] };
      let number = 0;
      for (const one of steps) {
        if ("put" in one) {
          for (let index = 0; index < one.times; index += 1) {
            const fits = one.put !== "ordinary" || model.ordinary.length < 5000;
            if (mailbox.put(number, one.put) !== fits) throw new Error("refused otherwise");
            if (fits) model[one.put].push(number);
            number += 1;
          }
          continue;
        }
        for (let index = 0; index < one.take; index += 1) {
          const lane = LANES.find((name) => model[name].length > 0);
          const expected = lane === undefined ? undefined : { message: model[lane].shift(), lane };
          const taken = mailbox.take();
          if (taken?.message !== expected?.message || taken?.lane !== expected?.lane) throw new Error("taken otherwise");
        }
      }
      const depth = LANES.reduce((sum, lane) => sum + model[lane].length, 0);
      if (mailbox.depth !== depth) throw new Error("another depth");
    }),
    { numRuns: 60 },
  );
});
