import { childMap, flow, Type } from "millrace";

export const called = flow("called", async () => undefined);

/** Calls the other flow so many times at once, and waits for all calls. */
export const children = flow(
  "children",
  { durable: true, parameters: Type.Object({ count: Type.Integer() }) },
  async ({ count }) => {
    const results = await childMap(
      called,
      Array.from({ length: count }, () => ({})),
    );
    return results.length;
  },
);
