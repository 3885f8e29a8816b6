/** What reacts to events and to their absence, and to requests of other services. */
import { setTimeout as pause } from "node:timers/promises";
import { flow, hook, rule, Type } from "millrace";

const Numbered = Type.Object({ n: Type.Integer() });
const OPTIONS = { crashRetries: 1_000_000 } as const;

/** Some of these runs take longer than the rule below allows. */
export const watched = flow("watched", { ...OPTIONS, parameters: Numbered }, async ({ n }) => {
  await pause((n % 5) * 400);
  return n;
});

export const late = flow("late", { ...OPTIONS, parameters: Type.Object({ of: Type.Integer() }) }, async ({ of }) => of);
export const onLate = rule(
  "on late",
  {
    when: { events: ["run.running"], flows: ["watched"] },
    unless: { events: ["run.completed"] },
    within: 1,
    maxPerMinute: 100_000,
  },
  [{ kind: "run_flow", flow: "late", parameters: { of: "{{ payload.run }}" } }],
);

export const hooked = flow("hooked", { ...OPTIONS, parameters: Numbered }, async ({ n }) => n);
export const told = hook("told", "/in/told", { secret: () => "whsec_c2VjcmV0", verify: "standard" }, async (payload) => {
  const { n } = payload as { n: number };
  const { id } = await hooked.start({ n });
  return Response.json({ id }, { status: 202 });
});
