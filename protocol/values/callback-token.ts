/** The tokens of callbacks: what a URL has in its path. The store keeps their hash alone. */
import { hash } from "node:crypto";

/** SHA-256 of a token, in hexadecimal. */
export function callbackTokenHash(token: string): string {
  return hash("sha256", token);
}
