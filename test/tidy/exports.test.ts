import t from "tap";
import { PRODUCT, type SourceFile } from "./sources.ts";

const EXPORT = /^export (?:abstract |async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm;

/** Names that each file of a set exports, because one caller loads any of the files. */
const LOADED_BY_PATH: readonly { files: RegExp; names: readonly string[]; reason: string }[] = [
  { files: /^storage\/(?:postgres\/)?migrations\//, names: ["name", "sql"], reason: "storage/migrations/index.ts lists them" },
  { files: /^server\/threads\//, names: ["setUp"], reason: "server/threads/entry.ts imports the file of its thread" },
  { files: /^dashboard\/pages\/.*-(?:page|tab)\.tsx$/, names: ["Page", "Tab"], reason: "a page and a tab load when opened" },
];

function exportsOf({ path, bare }: SourceFile): string[] {
  const excepted = LOADED_BY_PATH.filter(({ files }) => files.test(path)).flatMap(({ names }) => names);
  const names = [...bare.matchAll(EXPORT)].map(([, name = ""]) => name);
  // An overloaded function is one name, as is a schema with the type of its values.
  return [...new Set(names)].filter((name) => !excepted.includes(name));
}

/** The names that several of these files export, with the files. */
function repeatedNames(files: readonly SourceFile[]): string[] {
  const byName = new Map<string, string[]>();
  for (const file of files) {
    for (const exported of exportsOf(file)) {
      const name = `${file.folder}/ ${exported}`;
      byName.set(name, [...(byName.get(name) ?? []), file.path]);
    }
  }
  return [...byName].filter(([, paths]) => paths.length > 1).map(([name, paths]) => `${name}: ${paths.join(", ")}`);
}

t.test("two files of a folder never export the same name, so that a name has one meaning there", async (t) => {
  t.same(repeatedNames(PRODUCT), []);
});

t.test("every exception is needed", async (t) => {
  for (const { files, names } of LOADED_BY_PATH) {
    const found = PRODUCT.filter(({ path }) => files.test(path)).flatMap(({ bare }) =>
      [...bare.matchAll(EXPORT)].map(([, name]) => name),
    );
    for (const name of names) t.ok(found.filter((each) => each === name).length > 1, name);
  }
});

t.test("the check sees all forms of an export, and each folder by itself", async (t) => {
  const file = (path: string, bare: string): SourceFile => ({
    path,
    folder: path.slice(0, path.indexOf("/")),
    text: bare,
    code: bare,
    bare,
  });
  const one = file(
    "actors/one.ts",
    "export const A = 1;\nexport async function b() {}\nexport function* c() {}\nexport type D = 1;\nconst E = 1;\n",
  );
  const two = file(
    "actors/two.ts",
    "export interface D {}\nexport abstract class A {}\nexport function b() {}\nexport const c = 1;\nexport const E = 1;\n",
  );
  const other = file("gateway/one.ts", "export const A = 1;\n");
  t.same(
    repeatedNames([one, two, other]),
    ["A", "b", "c", "D"].map((name) => `actors/ ${name}: actors/one.ts, actors/two.ts`),
  );
});
