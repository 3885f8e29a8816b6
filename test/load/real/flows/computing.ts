import { flow, Type } from "millrace";

/** Computes without a pause. */
export const computing = flow("computing", { parameters: Type.Object({ seconds: Type.Number() }) }, async ({ seconds }) => {
  const end = performance.now() + seconds * 1_000;
  let steps = 0;
  while (performance.now() < end) steps += 1;
  return steps;
});
