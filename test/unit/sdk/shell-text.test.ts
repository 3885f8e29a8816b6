import { execFileSync } from "node:child_process";
import fc from "fast-check";
import t from "tap";
import { shellText } from "#sdk/commands/shell-text";

const text = (strings: TemplateStringsArray, ...values: unknown[]) => shellText(strings, values);

/** The words that a shell makes of a command's arguments. */
function wordsOf(command: string): string[] {
  const listed = execFileSync("/bin/sh", ["-c", `for word in ${command}; do printf '%s\\0' "$word"; done`], { encoding: "utf8" });
  return listed.split("\0").slice(0, -1);
}

t.test("a value of any characters reaches the program as one word, a list as one word for each entry", async (t) => {
  const value = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: fc.constantFrom("'", '"', "\\", "$", "`", "\n", " ", "*", "~", ";", "&", "|", "(", "#", "-", "!", "a") }),
  );
  const one = value.filter((each) => !each.includes("\0") && each.isWellFormed());
  fc.assert(
    fc.property(one, fc.array(one, { maxLength: 4 }), (single, list) => {
      const words = wordsOf(shellText(["", " ", " end=", ""], [single, list, single]));
      t.same(words, [single, ...list, `end=${single}`]);
    }),
    { numRuns: 200 },
  );
});

t.test("numbers, booleans and plain words stay readable", async (t) => {
  t.equal(
    text`head -n ${5} --color=${true} ${"/var/log/a-b_c.log"} ${[1, "two words"]}`,
    "head -n 5 --color=true /var/log/a-b_c.log 1 'two words'",
  );
  t.equal(text`ls ${[]}`, "ls ");
});

t.test("a value is refused where its quotes could not protect it", async (t) => {
  const evil = "$(id)";
  t.throws(() => text`echo "hello ${evil}"`, /value 1 of the command stands within quotes: leave them out/);
  t.throws(() => text`echo 'hello ${evil}'`, /within quotes/);
  t.throws(() => text`echo \\${evil}`, /after a backslash/);
  t.throws(() => text`echo \`${evil}\``, /within backticks/);
  t.throws(() => text`echo \${HOME:-${evil}}`, /within braces of the shell/);
  t.throws(() => text`echo $((1 + ${5}))`, /within \$\(\(\.\.\.\)\)/);
  t.throws(() => text`echo a # note ${evil}`, /within a comment/);
  t.throws(() => text`cat <<EOF\n${evil}\nEOF`, /within a here-document: pass it as the option `input`/);
  t.throws(() => text`cat <<'A B' -\nx\n${evil}\nA B`, /here-document/);
  t.throws(() => text`cat <<${evil}`, /delimiter of a here-document/);
});

t.test("a value may stand in a command substitution, behind quotes, comments and here-documents", async (t) => {
  t.equal(text`echo "$(basename ${"a b"})" ${"c d"}`, `echo "$(basename 'a b')" 'c d'`);
  t.equal(text`echo 'it is' "a \\" b" ${"x y"}`, `echo 'it is' "a \\" b" 'x y'`);
  t.equal(text`# it's done\nls ${"x y"}`, "# it's done\nls 'x y'");
  t.equal(text`cat <<EOF\nit's\nEOF\nls ${"x y"}`, "cat <<EOF\nit's\nEOF\nls 'x y'");
  t.equal(text`echo $((1 << 2)) $# a#b ${"x y"}`, "echo $((1 << 2)) $# a#b 'x y'");
  t.equal(text`(cd ${"x y"}; ls) <<< word; ls ${"x y"}#no`, "(cd 'x y'; ls) <<< word; ls 'x y'#no");
});

t.test("a missing value, an object and a NUL character are refused", async (t) => {
  t.throws(() => text`rm -r ${undefined}/`, /value 1 of the command must be a text, a number or a list of them, not undefined/);
  t.throws(() => text`rm ${"a"} ${null}`, /value 2 .* not null/);
  t.throws(() => text`rm ${{ path: "a" }}`, /not object/);
  t.throws(() => text`rm ${["a", ["b"]]}`, /not a list/);
  t.throws(() => text`rm ${"a\0b"}`, /NUL/);
  t.throws(() => shellText([undefined], []), /escape that JavaScript does not know/);
});
