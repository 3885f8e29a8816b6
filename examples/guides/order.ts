import { child, flow, Type, task, WaitTimeout, waitForEvent } from "millrace";

const parameters = Type.Object({ order: Type.Integer() });

const reserve = task("reserve", { retries: 3, retryDelay: "10s" }, async (order: number) => ({ order, shelf: 12 }));
const giveBack = task("give-back", async ({ order }: { order: number }) => `order ${order} is back on its shelf`);
const pack = task("pack", async (order: number) => `parcel of order ${order}`);

export const ship = flow("ship", { durable: true, parameters, retries: 2, retryDelay: "1h" }, ({ order }) => pack(order));

export const order = flow("order", { durable: true, parameters }, async ({ order }) => {
  const reserved = await reserve(order);
  try {
    await waitForEvent("order.paid", { where: { "payload.order": order }, timeout: "3d" });
  } catch (error) {
    if (!(error instanceof WaitTimeout)) throw error;
    return await giveBack(reserved);
  }
  return await child(ship, { order }).run();
});
