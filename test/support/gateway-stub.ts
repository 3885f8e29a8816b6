/** A gateway with a stub for core and writer: the test decides the answer to each command. */

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { type Agent, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, type GatewayOptions } from "#gateway/gateway";
import type { RouteAbandoned, RouteRequest } from "#protocol/routes/custom-route";
import { canonicalJson } from "#protocol/values/json";
import type { Command, CommandNotice } from "#protocol/wire/command";
import { type Primitive, STREAM_CODE, type StreamKind } from "#protocol/wire/feed";
import { transportOf } from "#server/config/config-values";
import type { Batch } from "#storage/write/batch";
import { openStore, request, type Store } from "./storage-rows.ts";

/** Every test of this folder that uses HTTP also runs on the other server library (`npm run test:node-transport`). */
export const TRANSPORT = transportOf("MILLRACE_TRANSPORT", process.env["MILLRACE_TRANSPORT"] ?? "uws");

export interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface StubOptions extends Partial<GatewayOptions> {
  /** Called for each command; returns the answer, or null to leave the command unanswered. */
  decide?: (command: Command) => { status: number; body: unknown } | null;
  /** False: no core is announced until the test does so. */
  core?: boolean;
}

export class StubServer {
  readonly commands: Command[] = [];
  readonly notices: CommandNotice[] = [];
  readonly defects: unknown[] = [];
  /** Messages for the user code actor. */
  readonly routeMessages: (RouteRequest | RouteAbandoned)[] = [];
  /** Stream numbers that the gateway reported as read. */
  readonly read: number[] = [];
  readonly gateway;
  readonly home = mkdtempSync(join(tmpdir(), "millrace-gateway-"));
  readonly #store: Store = openStore(join(this.home, "db.sqlite"));
  port = 0;
  readonly #decide: NonNullable<StubOptions["decide"]>;
  readonly #core: boolean;
  #batches = 0;
  #arrived: (() => void)[] = [];

  constructor({ decide, core, ...options }: StubOptions = {}) {
    this.#decide = decide ?? (() => ({ status: 200, body: { ok: true } }));
    this.#core = core ?? true;
    this.gateway = createGateway(
      {
        host: "127.0.0.1",
        port: 0,
        socket: null,
        token: null,
        allowed_hosts: [],
        mcp_read_only: false,
        home: "/home/someone",
        served_dir: null,
        version: "1.13.0",
        store: join(this.home, "db.sqlite"),
        dashboard: null,
        transport: TRANSPORT,
        connections_max: Number.POSITIVE_INFINITY,
        ...options,
      },
      {
        send: (_actor, message) => setImmediate(() => this.#take(message)),
        sendRoute: (message) => {
          this.routeMessages.push(message);
          for (const resolve of this.#arrived.splice(0)) resolve();
        },
        read: (seq) => this.read.push(seq),
        now: () => performance.now() * 1000,
        newId: randomUUID,
        failed: (cause) => {
          this.defects.push(cause);
          this.gateway.restart(null);
        },
        defect: (cause) => this.defects.push(cause),
      },
    );
  }

  async start(): Promise<this> {
    try {
      this.port = (await this.gateway.start()).port;
    } catch (cause) {
      this.#discard();
      throw cause;
    }
    if (this.#core) this.gateway.receive({ kind: "Reloaded", epoch: 1 });
    return this;
  }

  answer(command: number, status: number, body: unknown): void {
    this.commit({ replies: [command, status, body === null ? null : canonicalJson(body)] });
  }

  publish(messages: [StreamKind, number | string][]): void {
    this.commit({ stream: messages.flatMap(([kind, id]): Primitive[] => [STREAM_CODE[kind], id]) });
  }

  /** Commits rows, answers and messages like the writer, and sends the feed to the gateway. */
  commit(parts: Partial<Batch>): void {
    this.#batches += 1;
    const committed = request(this.#store.writer, this.#batches, parts);
    const result = this.#store.writer.commit(committed);
    const { replies, stream, runs } = committed.batch;
    this.gateway.receive({ kind: "Committed", replies, stream, runs, ...result });
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    this.#discard();
  }

  #discard(): void {
    this.#store.database.close();
    rmSync(this.home, { recursive: true, force: true });
  }

  /** Resolves when a message for the core satisfies the condition. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#arrived.push(resolve));
  }

  #take(message: Command | CommandNotice): void {
    if ("command" in message) {
      this.notices.push(message);
    } else {
      this.commands.push(message);
      const answer = this.#decide(message);
      if (answer !== null) this.answer(message.id, answer.status, answer.body);
    }
    for (const resolve of this.#arrived.splice(0)) resolve();
  }

  send(
    method: string,
    path: string,
    options: { body?: string | Buffer; headers?: Record<string, string>; socketPath?: string; agent?: Agent } = {},
  ) {
    return new Promise<Answered>((resolve, reject) => {
      const { body, headers = {}, socketPath, agent = false } = options;
      const typed = body !== undefined && headers["content-type"] === undefined ? { "content-type": "application/json" } : {};
      const target = socketPath === undefined ? { host: "127.0.0.1", port: this.port } : { socketPath };
      const request = httpRequest({ ...target, method, path, agent, headers: { ...typed, ...headers } }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString() }),
        );
        response.on("error", reject);
      });
      request.on("error", reject);
      request.end(body);
    });
  }

  /** Sends bytes on a separate socket; resolves with the response once the server closes the socket or `until` is received. */
  raw(text: string, until: string | null = null): Promise<string> {
    return new Promise((resolve) => {
      const socket = connect(this.port, "127.0.0.1");
      let received = "";
      const done = () => {
        socket.destroy();
        resolve(received);
      };
      socket.on("data", (chunk) => {
        received += chunk.toString("latin1");
        if (until !== null && received.includes(until)) done();
      });
      socket.on("error", done);
      socket.on("close", done);
      socket.write(text);
    });
  }
}
