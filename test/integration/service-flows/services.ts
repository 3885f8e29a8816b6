import { artifact, emit, flow, lease, log, Type, task, variable, waitForInput } from "millrace";

const ask = task("ask", async (prompt: string) => await waitForInput(prompt, Type.Object({ publish: Type.Boolean() })));

export const questions = flow("questions", async () => {
  log.info("from the top");
  const first = await waitForInput("First?");
  const second = await ask("Second?");
  return { first, second };
});

export const variables = flow("variables", { parameters: Type.Object({ name: Type.String() }) }, async ({ name }) => {
  const before = await variable.get(name, "nothing");
  await variable.set(name, { was: before }, { secret: true, tags: ["flow"] });
  const after = await variable.get(name);
  return { before, after, removed: await variable.remove("not/there") };
});

const useBoth = task("use-both", { resources: { disk: 2 } }, async () => "task");

export const resources = flow("resources", async () => {
  const held = await lease({ disk: 1 }, async () => {
    await emit("services.held", { disk: 1 });
    return "flow";
  });
  return [held, await useBoth()];
});

export const holder = flow("holder", async () => {
  await lease({ disk: 1 }, async () => {
    await emit("services.holding");
    await waitForAbort();
  });
});

async function waitForAbort(): Promise<void> {
  await new Promise<void>((resolve) => task.signal.addEventListener("abort", () => resolve()));
}

export const publishes = flow("publishes", { parameters: Type.Object({ other: Type.Integer() }) }, async ({ other }) => {
  const own = await artifact.markdown("own", "text", { key: "own" });
  const given = await artifact.link("there", "https://example.org/", { run: other });
  return { own, given };
});
