/** The name of this host and its current boot: a process id is valid only on the host and in the boot that it comes from. */
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** `name:boot id`; the name alone on systems without a boot id. */
export function hostIdentity(): string {
  try {
    return `${hostname()}:${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}`;
  } catch {
    return hostname();
  }
}
