/** A served folder of flows with engines. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { Millrace } from "#sdk/client/index";
import { serving, startCommand } from "./command-line.ts";
import { testFolder } from "./test-folder.ts";

/** Serves `files` from the folder `flows` of the test's folder; the home is outside of that folder. */
export async function serveFlows(t: Test, files: Record<string, string>) {
  const root = testFolder(t, { flows: files });
  const [dir, home] = [join(root, "flows"), temporaryHome(t)];
  const server = startCommand(["serve", ".", "--home", home, "--port", "0", "--no-open"], { cwd: dir });
  await serving(t, server);
  t.teardown(async () => {
    server.child.kill("SIGTERM");
    await server.ended;
  });
  return { root, dir, home, client: new Millrace({ home }) };
}

/**
 * An empty home that is removed at the end. An engine that starts while its server stops may still write into the home for a
 * moment, so that the removal is tried again.
 */
function temporaryHome(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), "millrace-home-"));
  t.teardown(() => rmSync(home, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }));
  return home;
}
