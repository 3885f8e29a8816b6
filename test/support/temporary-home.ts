import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";

/**
 * An empty home that is removed at the end. An engine that starts while its server stops may still write into the home for a
 * moment, so that the removal is tried again.
 */
export function temporaryHome(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), "millrace-home-"));
  t.teardown(() => rmSync(home, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }));
  return home;
}
