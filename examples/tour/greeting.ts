import { every, flow, log, Type, task } from "millrace";

const compose = task("compose", { retries: 2, timeout: "10s" }, async (name: string) => `Hello, ${name}`);

export const greeting = flow(
  "greeting",
  { parameters: Type.Object({ name: Type.String({ default: "world" }) }), schedules: [every("1h")] },
  async ({ name }) => {
    const text = await compose(name);
    log.info(text);
    return text;
  },
);

export const fragile = flow("fragile", async () => {
  log.warning("about to divide by zero");
  throw new Error("cannot divide by zero");
});
