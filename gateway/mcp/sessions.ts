/**
 * MCP sessions: the name that each client gave for itself. Sessions are no authentication; a request without a known session
 * is served as that of an unknown client.
 */
import { MCP_CLIENT_NAME_LENGTH_MAX, MCP_SESSION_IDLE_US, MCP_SESSIONS_MAX } from "#protocol/limits";

export const UNKNOWN_CLIENT = "unknown";

export interface SessionPorts {
  /** A new id that cannot be guessed. */
  newId(): string;
  /** Monotonic time in microseconds. */
  now(): number;
}

interface Session {
  client: string;
  usedUs: number;
}

export class Sessions {
  readonly #ports: SessionPorts;
  /** Ordered by last use, the least recently used first. */
  readonly #sessions = new Map<string, Session>();

  constructor(ports: SessionPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Opens a session and returns its id. The least recently used session is evicted if there are too many. */
  open(client: string): string {
    this.#dropIdle();
    const oldest = this.#sessions.keys().next().value;
    if (this.#sessions.size >= MCP_SESSIONS_MAX && oldest !== undefined) this.#sessions.delete(oldest);
    const id = this.#ports.newId();
    this.#sessions.set(id, { client, usedUs: this.#ports.now() });
    return id;
  }

  /** The client's name; marks the session as used. */
  clientOf(id: string): string {
    this.#dropIdle();
    const session = this.#sessions.get(id);
    if (session === undefined) return UNKNOWN_CLIENT;
    this.#sessions.delete(id);
    this.#sessions.set(id, { ...session, usedUs: this.#ports.now() });
    return session.client;
  }

  /** False for an unknown session. */
  close(id: string): boolean {
    this.#dropIdle();
    return this.#sessions.delete(id);
  }

  #dropIdle(): void {
    const oldestUs = this.#ports.now() - MCP_SESSION_IDLE_US;
    for (const [id, { usedUs }] of this.#sessions) {
      if (usedUs > oldestUs) return;
      this.#sessions.delete(id);
    }
  }
}

/** The name in the parameters of `initialize`. */
export function clientName(params: Readonly<Record<string, unknown>>): string {
  const info = params["clientInfo"];
  const name = typeof info === "object" && info !== null && "name" in info ? info.name : undefined;
  const text = typeof name === "string" ? name.trim().slice(0, MCP_CLIENT_NAME_LENGTH_MAX) : "";
  return text === "" ? UNKNOWN_CLIENT : text;
}
