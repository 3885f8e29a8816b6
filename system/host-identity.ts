/** The name of a host and its current boot, so that a server knows whether a process id means anything to it. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** `name:boot id`; the name alone where the system gives no boot id. */
export function hostIdentity(): string {
  try {
    return `${hostname()}:${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}`;
  } catch {
    return hostname();
  }
}
