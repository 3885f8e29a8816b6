import { flow, Type, task, waitForInput } from "millrace";

interface Reply {
  text: string;
  /** The model wants to use a tool, with this input. */
  tool?: string;
}

/** Stands for the call of a model. */
const askModel = task("ask-model", { retries: 3, retryDelay: "5s", timeout: "2m" }, async (history: string[]): Promise<Reply> => {
  return history.length === 1 ? { text: `order for "${history[0]}"`, tool: "order" } : { text: `done: ${history.at(-1)}` };
});

const useTool = task("use-tool", async (tool: string, input: string) => `${tool} of ${input}`);

/** Goes on after a restart with the steps it has taken; a person has a day to allow an order. */
export const agent = flow("agent", { durable: true, parameters: Type.Object({ wish: Type.String() }) }, async ({ wish }) => {
  const history = [wish];
  for (;;) {
    const reply = await askModel(history);
    if (reply.tool === undefined) return reply.text;
    const allowed = await waitForInput(`Allow ${reply.text}?`, Type.Boolean(), { timeout: "1d", default: false });
    history.push(allowed ? await useTool(reply.tool, reply.text) : "a person has refused this");
  }
});
