/**
 * /mcp over HTTP: POST carries one message, DELETE ends a session. The token and the origin were checked before, as for the
 * API. A message that cannot be parsed gets a JSON-RPC error with status 200; a refusal at the HTTP level is an ErrorBody.
 */
import { type Refusal, refuse } from "#protocol/errors";
import { BODY_BYTES_MAX } from "#protocol/limits";
import { MCP_PROTOCOL_VERSION, MCP_PROTOCOL_VERSIONS } from "#protocol/mcp/mcp";
import type { OutstandingCommands } from "../commands/outstanding-commands.ts";
import type { RunWaits } from "../commands/run-waits.ts";
import type { Reads } from "../reads/reads.ts";
import { BodyReader, type BodyTaker, type RequestHead } from "../request/body.ts";
import { replyMessage, replyNothing, replyRefusal } from "../request/reply.ts";
import type { Exchange, ExchangeWatcher } from "../transport/transport-port.ts";
import { ApiCalls, ClientLeft } from "./api-calls.ts";
import { type RpcMessage, readMessage, rpcError, unparsable, writeAnswer } from "./json-rpc.ts";
import { answerMethod } from "./methods.ts";
import { clientName, type SessionPorts, Sessions } from "./sessions.ts";

export interface McpPorts extends SessionPorts {
  commands: OutstandingCommands;
  reads: Reads;
  waits: RunWaits;
  version: string;
  /** Tools that change something are neither listed nor called. */
  readOnly: boolean;
  wallUs(): number;
  defect(cause: unknown): void;
}

const NO_HEAD: RequestHead = { target: 0, name: "", key: "", ruleDepth: 0 };

export class McpEndpoint {
  readonly #ports: McpPorts;
  readonly #sessions: Sessions;
  /** Answers that are being made. */
  readonly #answers = new Set<Promise<void>>();

  constructor(ports: McpPorts) {
    this.#ports = ports;
    this.#sessions = new Sessions(ports);
  }

  /** Resolves once the answers that are being made now are sent. A tool makes several calls, one after the other. */
  async answered(): Promise<void> {
    await Promise.all(this.#answers);
  }

  /** POST. */
  receive(exchange: Exchange): void {
    const post = new McpPost(exchange, this.#ports, this.#sessions, this.#answers);
    new BodyReader(exchange, this.#ports.commands.bodies, post, NO_HEAD, BODY_BYTES_MAX).start();
  }

  /** DELETE. */
  endSession(exchange: Exchange): void {
    const id = exchange.header("mcp-session-id");
    if (id === "") replyRefusal(exchange, refuse("mcp_session_missing"));
    else if (this.#sessions.close(id)) replyNothing(exchange, 204);
    else replyRefusal(exchange, refuse("mcp_session_not_found"));
  }
}

/** One message, from its head to its answer. */
class McpPost implements BodyTaker, ExchangeWatcher {
  readonly #ports: McpPorts;
  readonly #sessions: Sessions;
  readonly #session: string;
  readonly #version: string;
  readonly #answers: Set<Promise<void>>;
  #calls: ApiCalls | null = null;

  constructor(exchange: Exchange, ports: McpPorts, sessions: Sessions, answers: Set<Promise<void>>) {
    this.#ports = ports;
    this.#sessions = sessions;
    this.#answers = answers;
    this.#session = exchange.header("mcp-session-id");
    this.#version = exchange.header("mcp-protocol-version");
  }

  unreadable(exchange: Exchange, why: string): void {
    replyMessage(exchange, unparsable(why).answer);
  }

  take(exchange: Exchange, _head: RequestHead, text: string, bytes: number): void {
    exchange.watch(this);
    const answer = this.#answer(exchange, readMessage(text))
      .catch((cause: unknown) => this.#ports.defect(cause))
      .finally(() => {
        this.#ports.commands.bodies.giveBytes(bytes);
        this.#answers.delete(answer);
      });
    this.#answers.add(answer);
  }

  data(): void {}

  writable(): void {}

  aborted(): void {
    this.#calls?.leave();
  }

  async #answer(exchange: Exchange, message: RpcMessage): Promise<void> {
    const refusal = this.#refusalOf(message);
    if (refusal !== null) replyRefusal(exchange, refusal);
    else if (message.kind === "notification") replyNothing(exchange, 202);
    else if (message.kind === "unreadable") replyMessage(exchange, message.answer);
    else await this.#answerRequest(exchange, message);
  }

  async #answerRequest(exchange: Exchange, { id, method, params }: RpcMessage & { kind: "request" }): Promise<void> {
    const { version, readOnly, wallUs } = this.#ports;
    const client = this.#sessions.clientOf(this.#session);
    const calls = new ApiCalls(this.#ports, client, exchange.isLocalPeer());
    this.#calls = calls;
    try {
      const outcome = await answerMethod({ ask: calls.ask, client, readOnly, version, wallUs }, method, params);
      const session = method === "initialize" ? this.#sessions.open(clientName(params)) : null;
      replyMessage(exchange, writeAnswer(id, outcome), session);
    } catch (cause) {
      if (cause instanceof ClientLeft) return;
      this.#ports.defect(cause);
      replyMessage(
        exchange,
        writeAnswer(id, rpcError("internal", "internal error; do not repeat the call, the server's log has the cause")),
      );
    }
  }

  /**
   * `initialize` negotiates the version; a client that later names an unsupported version expects behaviour that this server
   * may not have.
   */
  #refusalOf(message: RpcMessage): Refusal | null {
    if (this.#version === "" || MCP_PROTOCOL_VERSIONS.has(this.#version)) return null;
    if (message.kind === "request" && message.method === "initialize") return null;
    return refuse("mcp_version", this.#version, MCP_PROTOCOL_VERSION);
  }
}
