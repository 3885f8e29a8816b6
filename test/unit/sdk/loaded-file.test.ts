/** Whether a file still has its loaded content. */
import { mkdirSync, renameSync, rmSync, statSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { isChanged, type LoadedFile, recordFile } from "#sdk/modules/loaded-file";

t.test("edits within one timestamp and of one size are seen", (t) => {
  const path = join(t.testdir({ "a.ts": "one" }), "a.ts");
  const file = recordFile(path);
  t.notOk(isChanged(file));
  writeFileSync(path, "two");
  const { mtimeMs, ctimeMs } = statSync(path);
  Object.assign(file, { modifiedMs: mtimeMs, changedMs: ctimeMs });
  t.ok(isChanged(file), "the times are those that were recorded");
  for (const text of ["aaa", "bbb", "ccc", "ddd"]) {
    writeFileSync(path, text);
    const loaded = recordFile(path);
    writeFileSync(path, text.toUpperCase());
    t.ok(isChanged(loaded));
  }
  t.end();
});

t.test("a file that was only touched, or written with what it held, is the same", (t) => {
  const path = join(t.testdir({ "a.ts": "one" }), "a.ts");
  const file = recordFile(path);
  utimesSync(path, 1, 1);
  t.notOk(isChanged(file));
  writeFileSync(path, "one");
  t.notOk(isChanged(file));
  t.end();
});

t.test("a save that puts the time of modification back is seen", (t) => {
  const path = join(t.testdir({ "a.ts": "one" }), "a.ts");
  utimesSync(path, 1_000, 1_000);
  const file = old(recordFile(path));
  writeFileSync(path, "two");
  utimesSync(path, 1_000, 1_000);
  t.ok(isChanged(file));
  t.end();
});

t.test("a file replaced by rename, deleted, or made again is another one as far as its content is", (t) => {
  const dir = t.testdir({ "a.ts": "one", "new.ts": "two" });
  const path = join(dir, "a.ts");
  const file = old(recordFile(path));
  renameSync(join(dir, "new.ts"), path);
  t.ok(isChanged(file));
  unlinkSync(path);
  t.ok(isChanged(file));
  mkdirSync(path);
  t.ok(isChanged(file), "a folder is no file");
  rmSync(path, { recursive: true });
  const missing = recordFile(path);
  t.notOk(isChanged(missing));
  writeFileSync(path, "one");
  t.notOk(isChanged(file), "as it was loaded");
  t.ok(isChanged(missing));
  t.end();
});

t.test("a link that points elsewhere is another file, also where the content is the same", (t) => {
  const dir = t.testdir({ first: { "a.ts": "one" }, second: { "a.ts": "one" } });
  const link = join(dir, "current");
  symlinkSync("first", link);
  const file = old(recordFile(join(link, "a.ts")));
  t.notOk(isChanged(file));
  unlinkSync(link);
  symlinkSync("second", link);
  t.ok(isChanged(file));
  t.end();
});

/** As if the file had not changed for a long time. */
function old(file: LoadedFile): LoadedFile {
  return { ...file, settled: true };
}
