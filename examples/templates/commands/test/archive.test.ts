import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { runFlow } from "millrace/testing";
import { archive } from "../flows/archive.ts";

test("the archive has the files of the folder", async () => {
  const [folder, target] = [mkdtempSync(join(tmpdir(), "archive-")), mkdtempSync(join(tmpdir(), "archive-"))];
  writeFileSync(join(folder, "a file.txt"), "text");
  const { result, state } = await runFlow(archive, { folder, file: join(target, "it is.tar.gz") });
  assert.equal(state.type, "Completed");
  assert.equal(result, 2);
  for (const each of [folder, target]) rmSync(each, { recursive: true });
});
