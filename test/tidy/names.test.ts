import t from "tap";
import { PRODUCT, SOURCES } from "./sources.ts";

/** File names without meaning, which attract unrelated code. */
const EMPTY_NAMES = /^(?:utils?|helpers?|common|lib|types|interfaces|misc|manager|shared|stuff)$/;
const KEBAB_CASE = /^(?:\d{4}-)?[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

t.test("files and folders are named by their role, in kebab-case", async (t) => {
  const found: string[] = [];
  for (const { path } of SOURCES) {
    for (const part of path.split("/")) {
      const name = part.replace(/(?:\.test|\.d|\.config)?\.tsx?$/, "");
      if (!KEBAB_CASE.test(name)) found.push(`${path}: ${name} is not in kebab-case`);
      if (EMPTY_NAMES.test(name)) found.push(`${path}: ${name} names no role`);
    }
  }
  t.same(found, []);
});

t.test("an actor's file is named like the actor, so that no two editor tabs look alike", async (t) => {
  const named = SOURCES.map(({ path }) => path).filter((path) => /\/(?:core|shell)\.ts$/.test(path));
  t.same(named, ["server/threads/core.ts"], "the thread is named core");
});

t.test("every file of the server begins by saying what it is for", async (t) => {
  const server = PRODUCT.filter(({ folder }) => folder !== "sdk");
  const found = server.filter(({ path, text }) => {
    const begin = text.replace(/^#!.*\n/, "").trimStart();
    return !path.endsWith(".d.ts") && !begin.startsWith("/**") && !begin.startsWith("//");
  });
  t.same(
    found.map(({ path }) => path),
    [],
  );
});
