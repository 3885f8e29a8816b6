/** The memory that the bodies of all requests may use together. */
import t from "tap";
import { BodyBudget } from "#gateway/request/body-budget";
import { BODIES_IN_FLIGHT_BYTES_MAX, LARGE_BODIES_BYTES_MAX, SMALL_BODY_BYTES_MAX } from "#protocol/limits";

const PIECE = SMALL_BODY_BYTES_MAX;

/** Receives a body in pieces until it is whole or refused; returns how much was accepted. */
function receive(memory: BodyBudget["decided"], bytes: number): number {
  let taken = 0;
  while (taken < bytes && memory.takeBytes(PIECE, taken + PIECE)) taken += PIECE;
  return taken;
}

t.test("large bodies are refused beyond their bound, small ones are not", async (t) => {
  const { decided } = new BodyBudget();
  const whole: number[] = [];
  for (let index = 0; index < 100; index += 1) {
    const taken = receive(decided, PIECE * 16);
    if (taken === PIECE * 16) whole.push(taken);
    else decided.giveBytes(taken);
  }
  t.equal(whole.length, LARGE_BODIES_BYTES_MAX / (PIECE * 16) + 1);
  t.notOk(decided.hasRoom(PIECE + 1), "it is refused at its head");
  t.ok(decided.hasRoom(PIECE), "a small one is not");
  t.ok(decided.takeBytes(PIECE, PIECE));
  for (const bytes of whole) decided.giveBytes(bytes);
  t.ok(decided.hasRoom(PIECE * 16), "answers make room");
});

t.test("a body of any size is taken where the others hold little", async (t) => {
  const { decided } = new BodyBudget();
  const bytes = LARGE_BODIES_BYTES_MAX * 2;
  t.equal(receive(decided, bytes), bytes);
  t.equal(receive(decided, bytes), PIECE, "the next one has to wait");
  decided.giveBytes(PIECE);
  decided.giveBytes(bytes);
  t.equal(receive(decided, bytes), bytes);
});

t.test("what was given back can be taken again, whatever it was taken for", async (t) => {
  const budget = new BodyBudget();
  for (let round = 0; round < 1_000; round += 1) {
    const bytes = receive(budget.decided, PIECE * (round % 5));
    budget.decided.giveBytes(bytes);
    budget.decided.takeBytes(10, 10);
    budget.decided.giveBytes(10);
  }
  t.ok(budget.takeBytes(BODIES_IN_FLIGHT_BYTES_MAX), "nothing is left behind");
  t.notOk(budget.takeBytes(1));
  budget.giveBytes(BODIES_IN_FLIGHT_BYTES_MAX);
  t.ok(budget.decided.hasRoom(PIECE * 2));
});
