import { flow, log, task, variable } from "millrace";

/** Stands for a request that needs the key. */
const fetchOrders = task("fetch-orders", async (since: number) => {
  const key = await variable.get("shop/api-key");
  if (typeof key !== "string") throw new Error("set the variable first: npx millrace variables set shop/api-key KEY --secret");
  log.info("asking for the orders since", since, "with", key);
  return { orders: 3, last: since + 3 };
});

export const orders = flow("orders", { maxConcurrent: 1 }, async () => {
  const since = await variable.get("shop/last-order", 0);
  const { orders, last } = await fetchOrders(since);
  await variable.set("shop/last-order", last);
  return orders;
});
