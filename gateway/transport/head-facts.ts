/**
 * Framing and origin of a request, gathered in one pass over its headers, because reading a single header from uWebSockets.js
 * costs half as much as the whole pass.
 *
 * A body whose length can be read in two ways lets a client smuggle a request past a proxy in front of this server (RFC 9112,
 * 11.2). Such a request is rejected and its connection closed.
 */
import { type Refusal, refuse } from "#protocol/errors";
import type { Exchange } from "./transport-port.ts";

const DIGITS = /^\d+$/;

export class HeadFacts {
  host = "";
  origin = "";
  /** The browser's description of the requesting page (Sec-Fetch-Site, -Mode and -Dest), each empty if absent. */
  site = "";
  mode = "";
  destination = "";
  #path = "";
  #trusted = false;
  #hosts = 0;
  #length = "";
  #lengths = 0;
  #coding = "";
  #codings = 0;

  read(exchange: Exchange): this {
    this.host = "";
    this.origin = "";
    this.site = "";
    this.mode = "";
    this.destination = "";
    this.#path = exchange.path;
    this.#trusted = exchange.trusted;
    this.#hosts = 0;
    this.#lengths = 0;
    this.#codings = 0;
    exchange.eachHeader(this.#note);
    return this;
  }

  /** The reason why the framing is ambiguous, or null. Exactly one Host is required by RFC 9112, 3.2. */
  framingRefusal(): Refusal | null {
    if (this.#hosts > 1 || (this.#hosts === 0 && !this.#trusted)) return refuse("not_one_host", this.#hosts);
    if (this.#lengths > 1 || (this.#lengths === 1 && !DIGITS.test(this.#length))) return refuse("bad_content_length");
    if (this.#codings > 1 || (this.#codings === 1 && (this.#lengths > 0 || this.#coding.toLowerCase() !== "chunked")))
      return refuse("bad_transfer_encoding");
    return this.#path.startsWith("/") ? null : refuse("bad_target");
  }

  readonly #note = (name: string, value: string): void => {
    switch (name) {
      case "host":
        this.host = value;
        this.#hosts += 1;
        break;
      case "content-length":
        this.#length = value;
        this.#lengths += 1;
        break;
      case "transfer-encoding":
        this.#coding = value;
        this.#codings += 1;
        break;
      case "origin":
        this.origin = value;
        break;
      case "sec-fetch-site":
        this.site = value;
        break;
      case "sec-fetch-mode":
        this.mode = value;
        break;
      case "sec-fetch-dest":
        this.destination = value;
        break;
    }
  };
}
