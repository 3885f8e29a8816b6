/** What the flows of the acceptance call over HTTP: answers that take their time, gates, and counters. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Gate {
  isOpen: boolean;
  waiting: Set<ServerResponse>;
}

export class Outside {
  readonly #server = createServer((request, response) => this.#answer(request, response));
  readonly #gates = new Map<string, Gate>();
  readonly #counts = new Map<string, number>();
  readonly #changed = new Set<() => void>();

  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** The address of an answer after `ms`. */
  slow(ms: number): string {
    return this.#url(`/slow/${ms}`);
  }

  /** The address of an answer that waits for `open`. */
  gate(name: string): string {
    return this.#url(`/gate/${name}`);
  }

  /** The address of an answer that is true for the first request only. */
  first(name: string): string {
    return this.#url(`/first/${encodeURIComponent(name)}`);
  }

  /** Resolves when so many requests wait at a gate. */
  async arrived(name: string, count: number): Promise<void> {
    while (this.#gate(name).waiting.size < count) await new Promise<void>((resolve) => this.#changed.add(resolve));
  }

  /** Resolves when an address of `first` was called. */
  async called(name: string): Promise<void> {
    while (this.countOf(name) === 0) await new Promise<void>((resolve) => this.#changed.add(resolve));
  }

  open(name: string): void {
    const gate = this.#gate(name);
    gate.isOpen = true;
    for (const response of gate.waiting) reply(response, "went on");
  }

  /** How often an address of `first` was called. */
  countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  #url(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  #gate(name: string): Gate {
    let gate = this.#gates.get(name);
    if (gate === undefined) {
      gate = { isOpen: false, waiting: new Set() };
      this.#gates.set(name, gate);
    }
    return gate;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const [, kind, encoded = ""] = (request.url ?? "").split("/");
    const name = decodeURIComponent(encoded);
    if (kind === "slow") setTimeout(() => reply(response, "answered"), Number(name));
    else if (kind === "gate") this.#wait(this.#gate(name), response);
    else {
      const count = this.countOf(name) + 1;
      this.#counts.set(name, count);
      reply(response, count === 1);
    }
    for (const wake of this.#changed) wake();
    this.#changed.clear();
  }

  #wait(gate: Gate, response: ServerResponse): void {
    if (gate.isOpen) return reply(response, "went on");
    gate.waiting.add(response);
    response.on("close", () => gate.waiting.delete(response));
  }
}

function reply(response: ServerResponse, value: unknown): void {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(value));
}
