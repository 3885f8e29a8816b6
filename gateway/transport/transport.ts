/**
 * Chooses the server library: uWebSockets.js where its binary loads, else node:http. The binary is built for one C library
 * and some versions of Node; on other systems (musl, old glibc, newer Node) it cannot be loaded.
 */
import type { RequestHandler, Transport } from "./transport-port.ts";

export const TRANSPORTS = ["uws", "node"] as const;
export type TransportName = (typeof TRANSPORTS)[number];

export interface ChosenTransport {
  transport: Transport;
  name: TransportName;
  /** One line with the reason for not using the faster library, unless that was configured; else null. */
  fallback: string | null;
}

/**
 * Creates the requested transport, or the fastest that loads here.
 * @throws when uWebSockets.js was requested by name and cannot be loaded.
 */
export async function createTransport(
  asked: TransportName | null,
  handler: RequestHandler,
  loadUws: () => Promise<typeof import("./uws-transport.ts")> = () => import("./uws-transport.ts"),
): Promise<ChosenTransport> {
  if (asked === "node") return { transport: await nodeTransport(handler), name: "node", fallback: null };
  try {
    const { createUwsTransport } = await loadUws();
    return { transport: createUwsTransport(handler), name: "uws", fallback: null };
  } catch (cause) {
    const why = reasonOf(cause);
    if (asked === "uws") throw new Error(`the transport uws was asked for and cannot be loaded: ${why}`, { cause });
    return { transport: await nodeTransport(handler), name: "node", fallback: why };
  }
}

/** One line. The library puts the loader's error below a list of supported systems, which does not explain this failure. */
function reasonOf(cause: unknown): string {
  const lines = (cause instanceof Error ? cause.message : String(cause)).split("\n");
  return lines.find((line) => line.startsWith("Error: "))?.slice("Error: ".length) ?? lines[0] ?? "";
}

async function nodeTransport(handler: RequestHandler): Promise<Transport> {
  const { createNodeTransport } = await import("./node-transport.ts");
  return createNodeTransport(handler);
}
