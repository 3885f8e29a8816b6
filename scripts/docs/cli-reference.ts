/** docs/reference/cli.md: every command with its arguments and options. */
import type { CommandSpec, OptionSpec } from "#cli/command-spec";
import { COMMANDS } from "#cli/commands";
import { CONNECTION_OPTIONS, GLOBAL_OPTIONS } from "#cli/shared-options";
import { anchor, code, page, sentence, table } from "./markdown.ts";

const EXIT_CODES = [
  ["0", "done"],
  ["1", "the run ended Failed or Crashed; `doctor`: a promise is broken"],
  ["2", "no run took place, or another end: skipped, cancelled; `stop`: not in time"],
  ["3", "not possible: wrong usage, no server, no access, a locked home, an unknown flow"],
];

interface Listed {
  /** As typed, including `millrace`. */
  line: string;
  spec: CommandSpec;
}

export function cliReference(): string {
  const commands = COMMANDS.flatMap((spec) => listed(spec, "millrace"));
  return page(
    "# Command line",
    table(
      ["Command", ""],
      commands.map(({ line, spec }) => [`[${line}](${anchor(line)})`, sentence(spec.description)]),
    ),
    "`millrace help COMMAND` and `--help` after any command show the same text.",
    "## Exit codes",
    table(["Code", "Meaning"], EXIT_CODES),
    "## Options of every command",
    `They may precede the command too.\n\n${options(GLOBAL_OPTIONS)}`,
    "## Commands",
    ...commands.map(commandPart),
  );
}

/** Commands with an action of their own, including subcommands. */
function listed(spec: CommandSpec, above: string): Listed[] {
  const line = `${above} ${spec.name}`;
  const own = spec.run === undefined ? [] : [{ line, spec }];
  return [...own, ...(spec.commands ?? []).flatMap((below) => listed(below, line))];
}

function commandPart({ line, spec }: Listed): string {
  const usage = [line, ...(spec.arguments ?? []).map(({ name }) => name)].join(" ");
  const args = (spec.arguments ?? []).map(({ name, description, default: value }) => [
    code(name),
    value === undefined ? description : `${description} (default: ${value})`,
  ]);
  const own = (spec.options ?? []).filter((option) => !isShared(option));
  return [
    `### ${line}`,
    `${sentence(spec.description)}.`,
    `\`\`\`sh\n${usage}\n\`\`\``,
    args.length === 0 ? "" : table(["Argument", ""], args),
    own.length === 0 ? "" : options(own),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** Options described once for all commands. The token to serve with differs from the token for requests. */
function isShared({ flags, description }: OptionSpec): boolean {
  return [...GLOBAL_OPTIONS, ...CONNECTION_OPTIONS].some(
    (option) => option.flags === flags && option.description === description,
  );
}

function options(specs: readonly OptionSpec[]): string {
  return table(
    ["Option", ""],
    specs.map(({ flags, description, default: value, required }) => [
      code(flags),
      [required === true ? "**needed**; " : "", description, value === undefined ? "" : ` (default: ${value})`].join(""),
    ]),
  );
}
