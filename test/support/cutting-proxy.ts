/** A TCP proxy before a test's PostgreSQL that cuts a connection around a message. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { TestDatabase } from "./postgres-server.ts";

export interface Cut {
  /** Text within the message. */
  message: string;
  when:
    | "before"
    /** The first half of the message reaches the server. */
    | "within"
    /** The server answers, and the answer is lost. */
    | "after"
    /** As after, and the server keeps its end of the connection. */
    | "after, half open";
}

export class CuttingProxy {
  readonly #server: Server;
  readonly #target: string;
  readonly #sockets = new Set<Socket>();
  /** The next message that is cut; null after it. */
  cut: Cut | null = null;
  /** Whether new connections are refused. */
  isDown = false;

  private constructor({ host, port }: TestDatabase) {
    this.#target = `${host}/.s.PGSQL.${port}`;
    this.#server = createServer((client) => this.#pass(client));
  }

  static async start(database: TestDatabase): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(database);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  url({ user, database }: TestDatabase): string {
    return `postgres://${user}@127.0.0.1:${(this.#server.address() as AddressInfo).port}/${database}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #pass(client: Socket): void {
    if (this.isDown) {
      client.destroy();
      return;
    }
    const server = connect(this.#target);
    let isHalfOpen = false;
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#sockets.delete(socket);
        if (!isHalfOpen) other.destroy();
      });
    }
    server.on("data", (answer) => client.write(answer));
    client.on("data", (message) => {
      const cut = this.#cutOf(message);
      if (cut === null) return server.write(message);
      if (cut === "before") return client.destroy();
      if (cut === "within") return server.end(message.subarray(0, message.length >> 1), () => client.destroy());
      isHalfOpen = cut === "after, half open";
      server.removeAllListeners("data");
      server.once("data", () => client.destroy());
      return server.write(message);
    });
  }

  #cutOf(message: Buffer): Cut["when"] | null {
    const { cut } = this;
    if (cut === null || !message.includes(cut.message)) return null;
    this.cut = null;
    return cut.when;
  }
}
