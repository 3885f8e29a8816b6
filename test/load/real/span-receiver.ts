/** A collector that takes spans and keeps none, so that engines have somewhere to send the traces of their runs. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface SpanReceiver {
  url: string;
  stop(): Promise<void>;
}

export async function startSpanReceiver(): Promise<SpanReceiver> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(200, { "content-type": "application/x-protobuf" }).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The settings by which engines trace this share of runs. */
export function tracesConfig({ url }: SpanReceiver, ratio: number): string {
  return `[server]\notlp_endpoint = "${url}"\ntrace_sample_ratio = ${ratio}\n`;
}
