/** `millrace mcp`: sends lines from standard input to the running server, and writes only its answers to standard output. */

import { once } from "node:events";
import { createInterface } from "node:readline";
import { fetchPeer } from "#sdk/client/http";
import { clientHome, findLocalServer, localPeer, socketPeer } from "#sdk/client/local-server";
import { EXIT } from "../exit-code.ts";
import { type FoundServer, McpProxy } from "./mcp-proxy.ts";

export interface McpOptions {
  home?: string;
  token?: string;
  url?: string;
  /** Path of the server's Unix socket. */
  socket?: string;
  readOnly?: boolean;
}

/** Runs until standard input ends. Answers are written in the order of the requests. */
export async function mcp(options: McpOptions): Promise<number> {
  const proxy = new McpProxy({
    find: () => findServer(options),
    readOnly: options.readOnly === true,
    now: () => performance.now(),
    complain: (text) => process.stderr.write(`millrace: ${text}\n`),
  });
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    const answer = await proxy.answer(line);
    if (answer !== null && !process.stdout.write(`${answer}\n`)) await once(process.stdout, "drain");
  }
  return EXIT.ok;
}

/** Looked up for each message, because the host keeps this process for days and the server may stop and start. */
function findServer({ home, token: given, url, socket }: McpOptions): FoundServer {
  const token = given ?? (process.env["MILLRACE_TOKEN"] || process.env["SERVICE_TOKEN"] || null);
  if (socket !== undefined) return { peer: socketPeer(socket, token), identity: socket };
  if (url !== undefined) return { peer: fetchPeer(url, token), identity: url };
  const { pid, startedAt } = findLocalServer(clientHome(home));
  return { peer: localPeer({ home, token }), identity: `${pid} ${startedAt}` };
}
