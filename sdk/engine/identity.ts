import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Names this host and its current boot, so that the server knows whether a process id means anything to it. */
export function hostIdentity(): string {
  let bootId = "";
  try {
    bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    // Not Linux: the host name alone.
  }
  return bootId === "" ? hostname() : `${hostname()}:${bootId}`;
}
