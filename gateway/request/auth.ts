/**
 * Access control: the Host and Origin checks and the token.
 *
 * They apply to TCP only; the Unix socket is protected by its file permission. The Host check rejects pages whose name was
 * rebound to this address (DNS rebinding), the Origin check rejects pages of other sites, the token rejects everyone else.
 * Without a token, a page of another site could still detect with an image or script whether a GET answers 200 or 404; the
 * Sec-Fetch headers of the browser identify such requests, which are rejected.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import { type Refusal, refuse } from "#protocol/errors";
import { isLoopbackHost } from "../transport/address.ts";
import type { HeadFacts } from "../transport/head-facts.ts";
import type { Exchange } from "../transport/transport-port.ts";

export interface AccessOptions {
  host: string;
  token: string | null;
  allowed_hosts: readonly string[];
}

/** Cache of checked Host headers. Clients send few different headers; a flood of others only clears the cache. */
const DECIDED_MAX = 1000;

const SCHEME = "bearer";

/** An address in brackets, or a name; with or without a port. */
const HOST = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]]+))(?::\d*)?$/;

export class Access {
  readonly #tokenHash: Buffer | null;
  readonly #names: ReadonlySet<string>;
  /** True when bound to all addresses: then any literal address is accepted, because a literal address cannot be rebound. */
  readonly #anyAddress: boolean;
  readonly #decided = new Map<string, boolean>();

  constructor(options: AccessOptions) {
    this.#tokenHash = options.token === null ? null : sha256(options.token);
    this.#names = new Set([...options.allowed_hosts, options.host].map((name) => unbracketed(name.toLowerCase())));
    this.#anyAddress = options.host === "0.0.0.0" || options.host === "::" || options.host === "";
  }

  /** Before routing: checks the origin and the target host of the request. */
  checkSource(exchange: Exchange, head: HeadFacts): Refusal | null {
    if (exchange.trusted) return null;
    const { host, origin } = head;
    if (!this.#isServed(host)) return refuse("host_not_allowed", host);
    if (origin !== "" && !originMatches(origin, host)) return refuse("origin_not_allowed", origin);
    return this.#tokenHash === null && isOfOtherSite(head) && !opensPage(exchange, head) ? refuse("other_site") : null;
  }

  /** After routing: checks the token, if the server has one. */
  checkToken(exchange: Exchange): Refusal | null {
    if (this.#tokenHash === null || exchange.trusted) return null;
    const token = bearerToken(exchange.header("authorization"));
    if (token === null) return refuse("token_missing");
    // Hashes have equal length, so the comparison takes the same time for every token.
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

/**
 * Parsed without a regular expression: an unauthenticated client could send a header on which backtracking takes quadratic
 * time.
 */
function bearerToken(authorization: string): string | null {
  const text = authorization.trim();
  if (text.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return null;
  const token = text.slice(SCHEME.length).trimStart();
  return token === "" || token.length === text.length - SCHEME.length ? null : token;
}

function sha256(text: string): Buffer {
  return hash("sha256", text, "buffer");
}

/** The name in a Host header, in lower case, without port and brackets; empty if malformed. */
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

/** True for requests of pages on another site, or on another port or name of the same site, by Sec-Fetch-Site. */
function isOfOtherSite({ site }: HeadFacts): boolean {
  return site === "cross-site" || site === "same-site";
}

/** True when a person follows a link of another site to a page: that site cannot read the response. */
function opensPage({ method, path }: Exchange, { mode, destination }: HeadFacts): boolean {
  const reads = method === "GET" || method === "HEAD";
  return reads && mode === "navigate" && destination === "document" && !path.startsWith("/api/") && path !== "/mcp";
}
