import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";

/** A path for a Unix socket until the test ends. The system takes at most 103 bytes, so the path is outside of the checkout. */
export function socketPath(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "millrace-socket-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "s");
}
