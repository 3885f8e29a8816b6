/** Addresses: loopback tests, free ports, and the reason why an address cannot be listened on. */
import { lstatSync } from "node:fs";
import { connect, createServer, isIP } from "node:net";
import { ListenError } from "./transport-port.ts";

/** Mode of a Unix socket: only its owner can open it. */
export const SOCKET_MODE = 0o600;

/** True for loopback names and literal loopback addresses; any other name might resolve to another host. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** IPv4 127/8, IPv6 ::1, and IPv4-mapped 127/8. */
export function isLoopbackAddress(address: Uint8Array): boolean {
  if (address.length === 4) return address[0] === 127;
  if (address.length !== 16 || address.subarray(0, 10).some((byte) => byte !== 0)) return false;
  if (address[10] === 0xff && address[11] === 0xff) return address[12] === 127;
  return address.subarray(10, 15).every((byte) => byte === 0) && address[15] === 1;
}

/** A port that is free at this moment; throws a ListenError when the host cannot be listened on. */
export function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => {
      reject(new ListenError(error.code ?? "EADDRNOTAVAIL", `cannot listen on ${host}: ${error.message}`));
    });
    probe.listen({ host, port: 0, exclusive: true }, () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

/** uWebSockets.js reports no reason when listening fails, so listen once with node:net to get the error code. */
export function listenError(host: string, port: number): Promise<ListenError> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", (error: NodeJS.ErrnoException) => {
      const code = error.code ?? "EADDRNOTAVAIL";
      const reason = code === "EADDRINUSE" ? "another program listens there" : error.message;
      resolve(new ListenError(code, `cannot listen on ${host}:${port}: ${reason}`));
    });
    probe.listen({ host, port, exclusive: true }, () => {
      probe.close();
      resolve(new ListenError("EADDRINUSE", `cannot listen on ${host}:${port}: another program listened there a moment ago`));
    });
  });
}

/** Throws a ListenError unless the path of a Unix socket is free, or holds a socket without a server. */
export async function checkSocketPath(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() === false) {
    throw new ListenError("EEXIST", `cannot create the socket ${path}: a file is in its place`);
  }
  if (await isServed(path)) throw new ListenError("EADDRINUSE", `another server answers on the socket ${path}`);
}

/** The error for a Unix socket; neither server library reports a reason. */
export function socketError(code: string, path: string): ListenError {
  return new ListenError(code, `cannot create the socket ${path}: the folder must exist and the path be under 108 bytes`);
}

/** True when a server accepts connections on the Unix socket, false for a socket left over by an ended server. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", () => resolve(false));
  });
}
