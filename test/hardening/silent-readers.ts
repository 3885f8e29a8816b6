/** Clients that send requests and never read. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";

export class SilentReaders {
  readonly #sockets: Socket[] = [];

  /** Connects `count` clients, each of which requests the path; resolves when all are connected. */
  static async ask(url: string, path: string, count: number): Promise<SilentReaders> {
    const readers = new SilentReaders();
    const { hostname, port } = new URL(url);
    for (let index = 0; index < count; index += 1) readers.#sockets.push(readers.#open(hostname, Number(port), path));
    await Promise.all(readers.#sockets.map((socket) => once(socket, "connect").catch(() => undefined)));
    return readers;
  }

  #open(host: string, port: number, path: string): Socket {
    const socket = connect(port, host);
    socket.on("error", () => undefined);
    // Without a data listener, a socket reads nothing.
    socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    return socket;
  }

  leave(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
