import { flow, Type, task, waitForInput } from "millrace";

interface Message {
  role: "user" | "model" | "tool";
  text: string;
  /** The tool that the model wants to use. */
  tool?: "search" | "order";
}

/** Stands for the call of a model: it wants to search, then to order, then it answers. */
const askModel = task(
  "ask-model",
  { retries: 3, retryDelay: "5s", timeout: "2m" },
  async (messages: Message[]): Promise<Message> => {
    const used = messages.filter(({ role }) => role === "tool").length;
    if (used === 0) return { role: "model", text: "cheapest green paint", tool: "search" };
    if (used === 1) return { role: "model", text: "2 cans of no. 7", tool: "order" };
    return { role: "model", text: `done: ${messages.at(-1)?.text}` };
  },
);

const useTool = task("use-tool", async (tool: string, input: string): Promise<string> => `${tool} of ${input}`);

export const agent = flow("agent", { durable: true, parameters: Type.Object({ wish: Type.String() }) }, async ({ wish }) => {
  const messages: Message[] = [{ role: "user", text: wish }];
  for (;;) {
    const reply = await askModel(messages);
    messages.push(reply);
    if (reply.tool === undefined) return reply.text;
    const allowed =
      reply.tool !== "order" || (await waitForInput(`Order ${reply.text}?`, Type.Boolean(), { timeout: "1d", default: false }));
    messages.push({ role: "tool", text: allowed ? await useTool(reply.tool, reply.text) : "a person has refused this" });
  }
});
