/** Builds the command line from the table of commands (cli/commands/), and reports the failures of commands. */

import { Command, CommanderError } from "commander";
import type { CommandSpec, OptionSpec } from "./command-spec.ts";
import { COMMANDS } from "./commands.ts";
import { CommandError, EXIT } from "./exit-code.ts";
import { CONNECTION_OPTIONS, GLOBAL_OPTIONS } from "./shared-options.ts";
import { endWithOutput } from "./terminal/output-errors.ts";
import { Terminal } from "./terminal/terminal.ts";
import { packageVersion } from "./version.ts";

/**
 * Runs one command line (without the program's name) and returns its exit code: 0 success, 1 the run failed, 2 no run or
 * another end, 3 usage or connection error.
 */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = buildProgram((code) => {
    exitCode = code;
  });
  endWithOutput();
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    return report(error);
  }
}

type Finish = (exitCode: number) => void;

function buildProgram(finish: Finish): Command {
  const program = new Command("millrace")
    .description("A local orchestration server for pipelines.")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help for a command")
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "millrace: ")) })
    .showHelpAfterError("Run with --help for usage.")
    .exitOverride();
  for (const option of GLOBAL_OPTIONS) addOption(program, option);
  for (const spec of COMMANDS) add(program, spec, finish);
  return program;
}

/** Adds a command with its subcommands to its parent. */
function add(parent: Command, spec: CommandSpec, finish: Finish): void {
  const command = parent.command(spec.name).description(spec.description);
  if (spec.raw === true) command.allowUnknownOption().allowExcessArguments().helpOption(false).argument("[args...]");
  for (const { name, description, default: value } of spec.arguments ?? []) command.argument(name, description, value);
  for (const option of spec.options ?? []) addOption(command, option);
  // The global options may also follow the command.
  if (spec.connects === true) for (const option of CONNECTION_OPTIONS) addOption(command, option);
  for (const below of spec.commands ?? []) add(command, below, finish);
  if (spec.run === undefined) return;
  command.action(async () => {
    const given = command.processedArgs as (string | string[] | undefined)[];
    const args = given.flat().filter((arg) => arg !== undefined);
    const options = command.optsWithGlobals();
    // Usually an unset shell variable; an empty home would mean the working directory.
    if (options["home"] === "") throw new CommandError("--home must not be empty", "Leave it out for the default.");
    finish((await spec.run?.(args, options)) ?? EXIT.ok);
  });
}

function addOption(command: Command, { flags, description, default: value, required, repeats }: OptionSpec): void {
  if (repeats === true) command.option(flags, description, collect, []);
  else if (required === true) command.requiredOption(flags, description);
  else command.option(flags, description, value);
}

function collect(value: string, earlier: string[]): string[] {
  return [...earlier, value];
}

async function report(error: unknown): Promise<number> {
  // commander has already printed the error, or the requested help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  const terminal = new Terminal(process.stderr);
  const failure = await asCommandError(error);
  if (failure === null) {
    terminal.line(`millrace: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    return EXIT.usage;
  }
  const advice = failure.advice === null ? "" : `. ${failure.advice}`;
  terminal.line(`${terminal.paint("red", "millrace:")} ${failure.message.replace(/\.$/, "")}${advice}`);
  return failure.exitCode;
}

/** The failure as one line, or null for a defect, which is shown with its stack. */
async function asCommandError(error: unknown): Promise<CommandError | null> {
  if (error instanceof CommandError) return error;
  if (!(error instanceof Error)) return null;
  if (error.name === "MillraceError") {
    const { commandError } = await import("./connection.ts");
    return commandError(error as Parameters<typeof commandError>[0]);
  }
  return error.name === "ConfigError" || error.name === "OperationalError" ? new CommandError(error.message) : null;
}
