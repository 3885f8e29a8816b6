import { createHash } from "node:crypto";
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { checkStepFiles, deleteUnusedStepFiles, STEP_FILES } from "#storage/home/step-files";
import { openWriteHandle } from "#storage/write/write-handle";

const DAY_MS = 24 * 3_600_000;

t.test("files of step results", async (t) => {
  const home = t.testdir();
  const nowMs = Date.now();
  mkdirSync(join(home, STEP_FILES), { recursive: true });
  const database = openWriteHandle(join(home, "db.sqlite"), { durability: "normal" });
  t.teardown(() => database.close());
  const write = (text: string, ageMs: number, name = createHash("sha256").update(text).digest("hex")): string => {
    const path = join(home, STEP_FILES, name);
    writeFileSync(path, text);
    utimesSync(path, (nowMs - ageMs) / 1_000, (nowMs - ageMs) / 1_000);
    return name;
  };
  const isThere = (name: string): boolean => existsSync(join(home, STEP_FILES, name));
  const used = write("used", 2 * DAY_MS);
  const unused = write("unused", 2 * DAY_MS);
  const fresh = write("fresh", 1_000);
  const part = write("a part", 2 * DAY_MS, `${used}.1.part`);
  const foreign = write("foreign", 2 * DAY_MS, "notes.txt");
  const insert = `INSERT INTO steps (lineage_id, identity, place, name, run_id, file, bytes, created_at)
    VALUES (1, ?, x'00', 'report', 7, ?, ?, 0)`;
  database.prepare(insert).run(Buffer.alloc(16, 1), Buffer.from(used, "hex"), 4);

  t.equal(await deleteUnusedStepFiles(home, join(home, "db.sqlite"), nowMs), 2, "what no step names, and a part of a file");
  t.same([used, unused, fresh, part, foreign].map(isThere), [true, false, true, false, true]);
  t.equal(await deleteUnusedStepFiles(join(home, "other"), join(home, "db.sqlite"), nowMs), 0, "a home without such files");
  t.same(checkStepFiles(home, database), { count: 1, problems: [] });

  const missing = createHash("sha256").update("missing").digest("hex");
  database.prepare(insert).run(Buffer.alloc(16, 2), Buffer.from(missing, "hex"), 7);
  writeFileSync(join(home, STEP_FILES, used), "shortened");
  t.match(checkStepFiles(home, database), {
    count: 2,
    problems: [
      /"report" of run 7 (is missing|has 9 bytes instead of 4)/,
      /"report" of run 7 (is missing|has 9 bytes instead of 4)/,
    ],
  });
});
