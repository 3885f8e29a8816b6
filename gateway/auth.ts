/**
 * Who may ask: the Host and Origin checks and the token.
 *
 * These apply to TCP only; the Unix socket is trusted by its file permission. The Host check keeps out pages whose name
 * was rebound to this address, the Origin check pages of other sites, the token everybody else. Where there is no token, a page
 * of another site could still tell by a picture or script whether a GET is 200 or 404: what its browser says of it is refused.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { type Refusal, refuse } from "#protocol/errors";
import { isLoopbackHost } from "./address.ts";
import type { HeadFacts } from "./head-facts.ts";
import type { Exchange } from "./transport-port.ts";

export interface AccessOptions {
  host: string;
  token: string | null;
  allowed_hosts: readonly string[];
}

/** Host headers decided already; clients send few different ones, and a flood of others only empties the memory. */
const DECIDED_MAX = 1000;

const SCHEME = "bearer";

/** An address in brackets, or a name; with or without a port. */
const HOST = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]]+))(?::\d*)?$/;

export class Access {
  readonly #tokenHash: Buffer | null;
  readonly #names: ReadonlySet<string>;
  /** Bound to every address of the machine, any of them is the bound address. A literal address cannot be rebound. */
  readonly #anyAddress: boolean;
  readonly #decided = new Map<string, boolean>();

  constructor(options: AccessOptions) {
    this.#tokenHash = options.token === null ? null : sha256(options.token);
    this.#names = new Set([...options.allowed_hosts, options.host].map((name) => unbracketed(name.toLowerCase())));
    this.#anyAddress = options.host === "0.0.0.0" || options.host === "::" || options.host === "";
  }

  /** Before routing: where the request says it comes from and goes to. */
  checkSource(exchange: Exchange, head: HeadFacts): Refusal | null {
    if (exchange.trusted) return null;
    const { host, origin } = head;
    if (!this.#isServed(host)) return refuse("host_not_allowed", host);
    if (origin !== "" && !originMatches(origin, host)) return refuse("origin_not_allowed", origin);
    return this.#tokenHash === null && isOfOtherSite(head) && !opensPage(exchange, head) ? refuse("other_site") : null;
  }

  /** After routing: the token, where the server has one. */
  checkToken(exchange: Exchange): Refusal | null {
    if (this.#tokenHash === null || exchange.trusted) return null;
    const token = bearerToken(exchange.header("authorization"));
    if (token === null) return refuse("token_missing");
    // Hashes have one length, so the comparison takes the same time for every token.
    return timingSafeEqual(sha256(token), this.#tokenHash) ? null : refuse("token_wrong");
  }

  #isServed(host: string): boolean {
    const known = this.#decided.get(host);
    if (known !== undefined) return known;
    const name = nameOf(host);
    const served = isLoopbackHost(name) || this.#names.has(name) || (this.#anyAddress && isIP(name) !== 0);
    if (this.#decided.size >= DECIDED_MAX) this.#decided.clear();
    this.#decided.set(host, served);
    return served;
  }
}

/** Whoever has no token sends what they like: a pattern with two open ends would take time that grows with the square of it. */
function bearerToken(authorization: string): string | null {
  const text = authorization.trim();
  if (text.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return null;
  const token = text.slice(SCHEME.length).trimStart();
  return token === "" || token.length === text.length - SCHEME.length ? null : token;
}

function sha256(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/** The name of a Host header, in lower case and without port and brackets; empty where it is none. */
function nameOf(host: string): string {
  const parts = HOST.exec(host.trim().toLowerCase());
  return parts?.[1] ?? parts?.[2] ?? "";
}

function unbracketed(name: string): string {
  return name.startsWith("[") && name.endsWith("]") ? name.slice(1, -1) : name;
}

/** An origin is scheme://host[:port]; "null" has no host and never matches. */
function originMatches(origin: string, host: string): boolean {
  const start = origin.indexOf("://");
  return start !== -1 && origin.slice(start + 3).toLowerCase() === host.trim().toLowerCase();
}

/** True for what a page of another site asks for, or one of another port or name beside ours: a browser tells them apart. */
function isOfOtherSite({ site }: HeadFacts): boolean {
  return site === "cross-site" || site === "same-site";
}

/** True when a person goes to a page by a link of another site: that site sees nothing of the answer. */
function opensPage({ method, path }: Exchange, { mode, destination }: HeadFacts): boolean {
  const reads = method === "GET" || method === "HEAD";
  return reads && mode === "navigate" && destination === "document" && !path.startsWith("/api/") && path !== "/mcp";
}
