/** A reader of the event stream that takes whatever comes. */
import { connect, type Socket } from "node:net";
import type { Endpoint } from "./http-connection.ts";

export interface StreamReader {
  socket: Socket;
  /** Bytes received, the head of the answer included. */
  bytes: number;
}

/** @param query of /api/stream, without "?"; empty for the whole stream */
export function openStream({ host, port, token }: Endpoint, query: string, take?: (data: Buffer) => void): StreamReader {
  const socket = connect(port, host);
  const reader: StreamReader = { socket, bytes: 0 };
  const authorization = token === null ? "" : `Authorization: Bearer ${token}\r\n`;
  socket.write(`GET /api/stream${query === "" ? "" : `?${query}`} HTTP/1.1\r\nHost: ${host}\r\n${authorization}\r\n`);
  socket.on("data", (data: Buffer) => {
    reader.bytes += data.length;
    take?.(data);
  });
  return reader;
}
