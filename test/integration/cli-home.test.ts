/** Which folders the command line accepts as a home. */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { serve, startCommand } from "../support/command-line.ts";
import { testFolder } from "../support/test-folder.ts";

t.test("an empty name of a home is refused by every command", async (t) => {
  const dir = testFolder(t, { "thesis.md": "" });
  for (const args of [["serve", "."], ["status"], ["doctor"], ["mcp"]]) {
    const { code, errors } = await startCommand([...args, "--home", ""], { cwd: dir }).ended;
    t.equal(code, 3, args.join(" "));
    t.match(errors, /--home must not be empty/, args.join(" "));
  }
  t.same(readdirSync(dir), ["thesis.md"]);
});

t.test("a folder with other files is not taken over, whoever names it, until it is made a home", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "millrace-foreign-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, "thesis.md"), "");
  const modeBefore = statSync(dir).mode;
  const script = "import { flow } from 'millrace'; export const x = flow('x', async () => 1);";
  const flows = testFolder(t, { "x.mjs": script, "copy.sqlite": "" });
  const refused = [
    startCommand(["serve", flows, "--home", dir, "--port", "0", "--no-open"]),
    startCommand(["serve", flows, "--port", "0", "--no-open"], { env: { MILLRACE_HOME: dir } }),
    startCommand(["run", join(flows, "x.mjs")], { env: { MILLRACE_HOME: dir } }),
    startCommand(["restore", join(flows, "copy.sqlite"), "--home", dir]),
    startCommand(["doctor", "--home", dir]),
    startCommand(["service", "install", flows, "--home", dir, "--dry-run"]),
  ];
  for (const { ended } of refused) {
    const { code, errors } = await ended;
    t.equal(code, 3);
    t.match(errors, `${dir} holds files and is not a home of Millrace`);
    t.match(errors, `touch ${dir}/db.lock`);
    t.notMatch(errors, /^ +at /m);
  }
  t.same(readdirSync(dir), ["thesis.md"]);
  t.equal(statSync(dir).mode, modeBefore);
  writeFileSync(join(dir, "db.lock"), "");
  await serve(t, flows, dir);
  t.equal(statSync(dir).mode & 0o777, 0o700);
});
