import { childMap, flow, Type } from "millrace";
import { empty } from "./empty.ts";

/** Calls the empty flow so many times at once, and waits for all calls. */
export const children = flow(
  "children",
  { durable: true, parameters: Type.Object({ count: Type.Integer() }) },
  async ({ count }) => {
    const results = await childMap(
      empty,
      Array.from({ length: count }, () => ({})),
    );
    return results.length;
  },
);
