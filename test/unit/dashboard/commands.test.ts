/** Commands that the dashboard offers for copying are valid for the command line. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import type { CommandSpec } from "#cli/command-spec";
import { COMMANDS } from "#cli/commands";
import { CONNECTION_OPTIONS, GLOBAL_OPTIONS } from "#cli/shared-options";

const DASHBOARD = fileURLToPath(new URL("../../../dashboard", import.meta.url));
const COMMAND = /npx millrace ((?:[\w=./:-]+ ?)+)/g;

function offered(): { file: string; words: string[] }[] {
  const files = readdirSync(DASHBOARD, { recursive: true, encoding: "utf8" }).filter((file) => /\.tsx?$/.test(file));
  return files.flatMap((file) =>
    [...readFileSync(join(DASHBOARD, file), "utf8").matchAll(COMMAND)].map(([, line = ""]) => ({
      file,
      words: line.trim().split(" "),
    })),
  );
}

/** The error in the words after `millrace`; null if the command line accepts them. */
function fault(words: readonly string[], commands: readonly CommandSpec[] = COMMANDS): string | null {
  const [name = "", ...rest] = words;
  const command = commands.find((each) => each.name === name);
  if (command === undefined) return `there is no command ${name}`;
  if (command.commands !== undefined && command.run === undefined) return fault(rest, command.commands);
  const known = [...(command.options ?? []), ...CONNECTION_OPTIONS, ...GLOBAL_OPTIONS].flatMap(({ flags }) =>
    flags.split(/[ ,]+/),
  );
  const option = rest.find((word) => word.startsWith("-") && !known.includes(word));
  if (option !== undefined) return `${name} has no option ${option}`;
  const taken = command.arguments ?? [];
  const given = rest.filter((word) => !word.startsWith("-"));
  const needed = taken.filter((argument) => argument.name.startsWith("<"));
  if (given.length < needed.length) return `${name} needs ${needed.map((argument) => argument.name).join(" ")}`;
  const many = taken.some((argument) => argument.name.includes("..."));
  return given.length > taken.length && !many ? `${name} takes no ${given.at(taken.length)}` : null;
}

t.test("every command that the dashboard offers to copy is one that the command line has", async (t) => {
  const commands = offered();
  t.ok(commands.length >= 3, "some are offered");
  for (const { file, words } of commands) t.equal(fault(words), null, `${file}: millrace ${words.join(" ")}`);
});

t.test("what the command line does not have is found", async (t) => {
  t.equal(fault(["emit", "shop.price.changed"]), "there is no command emit");
  t.equal(fault(["variable", "set", "NAME", "VALUE"]), "there is no command variable");
  t.equal(fault(["variables", "set", "NAME"]), "set needs <name> <value>");
  t.equal(fault(["run", "FLOW", "--quickly"]), "run has no option --quickly");
});
