import t from "tap";
import { findAll, PRODUCT, type SourceFile } from "./sources.ts";

/** Free-form JSON that a client sent, by the names it has in the code, when spread into a new object. */
const SPREAD = /\.\.\.(?:(?:parameters|extra|given|answer|defaults)\b|parameterDefaults\()/g;
/** Free-form JSON that is copied part by part. */
const ASSIGNED = /\[\w+\] = (?:parameters|extra|given|answer|defaults|sent)\[/g;

/** The files in which such values are whole: they check parameters, or merge them. */
function handlesFreeForm({ path, code }: SourceFile): boolean {
  return /"(?:#protocol\/values|\.)\/(?:json|parameters)(?:\.ts)?"/.test(code) && /^(?:actors|protocol\/values)\//.test(path);
}

t.test("copies of parameters keep how numbers were written: mergeParts and copyPart, no spread and no assignment", async (t) => {
  const files = PRODUCT.filter(handlesFreeForm);
  t.ok(files.some(({ path }) => path === "protocol/values/parameters.ts"));
  t.same([...findAll(files, SPREAD), ...findAll(files, ASSIGNED)], []);
});

t.test("the check sees a spread, a call that is spread, and an assignment", async (t) => {
  const seen = (line: string): boolean => [SPREAD, ASSIGNED].some((pattern) => line.match(pattern) !== null);
  t.ok(seen("const all = { ...parameters, [name]: value };"));
  t.ok(seen("const all = { ...parameterDefaults(schema), ...own };"));
  t.ok(seen("own[name] = given[name];"));
  t.notOk(seen("mergeParts(parameters, { [name]: value })"));
  t.notOk(seen("const { name, ...parametersOf } = flow;"));
});
