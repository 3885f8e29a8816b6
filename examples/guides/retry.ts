import { Abort, flow, Type, task } from "millrace";

const fetchPage = task("fetch-page", { retries: 3, retryDelay: "2s", timeout: "30s" }, async (url: string) => {
  const answer = await fetch(url, { signal: task.signal });
  if (answer.status === 404) throw new Abort(`${url} does not exist`);
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`);
  return await answer.text();
});

export const mirror = flow(
  "mirror",
  { parameters: Type.Object({ url: Type.String() }), retries: 1, retryDelay: "1m", timeout: "10m", crashRetries: 2 },
  async ({ url }) => (await fetchPage(url)).length,
);
