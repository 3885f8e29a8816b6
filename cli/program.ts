/** The commands, their options and how each one's failure is told. */

import { Command, CommanderError } from "commander";
import { CommandError, EXIT } from "./exit-code.ts";
import { addHomeCommands } from "./home-commands.ts";
import { Terminal } from "./terminal.ts";
import { packageVersion } from "./version.ts";

/**
 * Runs one command line (without the program's name) and gives its exit code:
 * 0 done, 1 the run failed, 2 nothing ran or another end, 3 usage or connection error.
 */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = buildProgram((code) => {
    exitCode = code;
  });
  leaveQuietlyOnClosedPipe();
  try {
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    return report(error);
  }
}

type Finish = (exitCode: number) => void;

/** Declares commands; each tells its exit code when it has ended. */
export type AddCommand = (program: Command, finish: Finish) => void;

function buildProgram(finish: Finish): Command {
  const program = new Command("millrace")
    .description("A local orchestration server for pipelines.")
    .option("--home <dir>", "data directory (default: MILLRACE_HOME or ~/.millrace)")
    .option("--token <token>", "token of the server (default: MILLRACE_TOKEN)")
    .option("--url <url>", "address of the server (default: the one running for the data directory)")
    .option("--json", "print data as JSON")
    .version(packageVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help for a command")
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "millrace: ")) })
    .showHelpAfterError("Run with --help for usage.")
    .exitOverride();
  addServe(program, finish);
  addRun(program, finish);
  addRuns(program, finish);
  addBackfill(program, finish);
  addSchedules(program, finish);
  addEngine(program);
  addMcp(program, finish);
  addHomeCommands(program, finish);
  return program;
}

function addServe(program: Command, finish: Finish): void {
  program
    .command("serve")
    .description("serve the flows of a directory")
    .argument("[dir]", "directory with flow files and millrace.toml", ".")
    .option("--home <dir>", "data directory (default: MILLRACE_HOME or ~/.millrace)")
    .option("--host <host>", "address to listen on (default: 127.0.0.1)")
    .option("--port <port>", "port to listen on, 0 takes a free one (default: 4270)")
    .option("--token <token>", "token that clients must send (default: none)")
    .option("--socket <path>", "also listen on a Unix socket, without a token")
    .option("--max-engines <n>", "engine processes at one time (default: number of processors)")
    .option("--engine-max-runs <n>", "runs after which an engine process is replaced (default: 100)")
    .option("--crash-retries <n>", "times a crashed run is tried again (default: 5; the file's value wins)")
    .option("--durability <level>", "normal, or full: each commit is synced to the disk (default: normal)")
    .option("--no-engines", "start no engine processes")
    .option("--no-open", "do not open a browser")
    .option("--allow-anonymous", "listen beyond this machine without a token")
    .action(async (dir: string, _options: unknown, command: Command) => {
      const { serve } = await import("./serve.ts");
      finish(await serve(dir, command.optsWithGlobals()));
    });
}

function addRun(program: Command, finish: Finish): void {
  withConnection(program.command("run"))
    .description("run a flow and follow it to its end")
    .argument("<flow>", "FILE:FLOW, FILE with a single flow, or the name of a flow the server knows")
    .option("-p, --param <key=value>", "a parameter; repeat for more", collect, [])
    .option("--name <name>", "name of the run")
    .option("--tag <tag>", "a tag; repeat for more", collect, [])
    .option("-q, --quiet", "print nothing but errors")
    .action(async (target: string, _options: unknown, command: Command) => {
      const { run } = await import("./run.ts");
      finish(await run(target, command.optsWithGlobals()));
    });
}

function addRuns(program: Command, finish: Finish): void {
  const runs = program.command("runs").description("look at runs");
  withConnection(runs.command("ls"))
    .description("list runs, newest first")
    .option("--flow <name>", "only runs of this flow")
    .option("--project <name>", "only runs of this project")
    .option("--state <state>", "only runs in this state or sub-state")
    .option("--limit <n>", "how many", "20")
    .action(async (_options: unknown, command: Command) => {
      const { listRuns } = await import("./runs.ts");
      finish(await listRuns(command.optsWithGlobals()));
    });
  withConnection(runs.command("show"))
    .description("show a run, its tasks and artifacts")
    .argument("<id>", "id of the run")
    .action(async (id: string, _options: unknown, command: Command) => {
      const { showRun } = await import("./run-details.ts");
      finish(await showRun(id, command.optsWithGlobals()));
    });
  withConnection(runs.command("logs"))
    .description("print the log of a run")
    .argument("<id>", "id of the run")
    .option("-f, --follow", "go on until the run has ended")
    .option("--level <level>", "lowest level: DEBUG, INFO, WARNING, ERROR, CRITICAL or a number")
    .option("--search <text>", "only lines with this text")
    .action(async (id: string, _options: unknown, command: Command) => {
      const { printLogs } = await import("./logs.ts");
      finish(await printLogs(id, command.optsWithGlobals()));
    });
}

function addBackfill(program: Command, finish: Finish): void {
  withConnection(program.command("backfill"))
    .description("create one run per value of a date or datetime parameter")
    .argument("<flow>", "FLOW or PROJECT/FLOW, as the server knows it")
    .requiredOption("--param <name>", "the parameter that takes the values")
    .requiredOption("--start <value>", "first value: a date or an RFC 3339 time")
    .requiredOption("--end <value>", "last value, included")
    .option("--interval <step>", "seconds, or 30m, 12h, 1d, 1w", "1d")
    .option("--concurrency <n>", "how many of its runs execute at once", "1")
    .option("--reverse", "newest value first")
    .option("--extra <key=value>", "a parameter that every run gets; repeat for more", collect, [])
    .option("--dry-run", "say what would be created, and create nothing")
    .action(async (target: string, _options: unknown, command: Command) => {
      const { backfill } = await import("./backfill.ts");
      finish(await backfill(target, command.optsWithGlobals()));
    });
}

function addSchedules(program: Command, finish: Finish): void {
  const schedules = program.command("schedules").description("look at schedules, pause them, skip fires");
  withConnection(schedules.command("ls"))
    .description("list schedules")
    .option("--flow <name>", "only of this flow")
    .option("--project <name>", "only of this project")
    .action(async (_options: unknown, command: Command) => {
      finish(await (await import("./schedules.ts")).listSchedules(command.optsWithGlobals()));
    });
  withConnection(schedules.command("preview"))
    .description("show the next fires of a schedule")
    .option("--cron <expression>", "five-field cron expression")
    .option("--every <interval>", "interval such as 30m or 1d")
    .option("--rrule <rule>", "RFC 5545 rule with DTSTART")
    .option("--timezone <name>", "IANA zone (default: the server's)")
    .option("--count <n>", "how many fires, at most 20", "3")
    .action(async (_options: unknown, command: Command) => {
      finish(await (await import("./schedules.ts")).previewSchedule(command.optsWithGlobals()));
    });
  for (const [name, description] of [
    ["pause", "pause a schedule"],
    ["resume", "resume a schedule"],
  ] as const) {
    withConnection(schedules.command(name))
      .description(description)
      .argument("<id>", "id of the schedule")
      .action(async (id: string, _options: unknown, command: Command) => {
        const { pauseSchedule, resumeSchedule } = await import("./schedules.ts");
        finish(await (name === "pause" ? pauseSchedule : resumeSchedule)(id, command.optsWithGlobals()));
      });
  }
  withConnection(schedules.command("skip"))
    .description("skip fires of a schedule")
    .argument("<id>", "id of the schedule")
    .argument("[fires...]", "times of fires, such as 2026-01-31T06:00:00Z")
    .option("--next <n>", "the next n fires that are not skipped")
    .option("--undo <fire>", "take the skip of a fire back")
    .action(async (id: string, fires: string[], _options: unknown, command: Command) => {
      finish(await (await import("./schedules.ts")).skipFires(id, fires, command.optsWithGlobals()));
    });
}

/** The engine has its own command line; ours only hands it over. */
function addEngine(program: Command): void {
  program
    .command("engine")
    .description("run an engine process by hand (--module FILE --source-dir DIR --server URL)")
    .allowUnknownOption()
    .allowExcessArguments()
    .helpOption(false)
    .argument("[args...]")
    .action(async (args: string[]) => {
      const { startEngine } = await import("./engine.ts");
      await startEngine(args);
    });
}

function addMcp(program: Command, finish: Finish): void {
  program
    .command("mcp")
    .description("let an agent host speak to the running server over standard input and output")
    .option("--home <dir>", "data directory of the server")
    .option("--token <token>", "token of the server (default: MILLRACE_TOKEN or SERVICE_TOKEN)")
    .option("--url <url>", "address of the server")
    .option("--socket <path>", "Unix socket of the server")
    .option("--read-only", "offer only tools that change nothing")
    .action(async (_options: unknown, command: Command) => {
      const { mcp } = await import("./mcp.ts");
      finish(await mcp(command.optsWithGlobals()));
    });
}

/** The global options may stand after the command too. */
function withConnection(command: Command): Command {
  return command
    .option("--home <dir>", "data directory of the server")
    .option("--token <token>", "token of the server")
    .option("--url <url>", "address of the server")
    .option("--json", "print data as JSON");
}

function collect(value: string, earlier: string[]): string[] {
  return [...earlier, value];
}

/** `millrace runs ls | head` ends without a word, as other programs do. */
function leaveQuietlyOnClosedPipe(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(EXIT.ok);
    throw error;
  });
}

async function report(error: unknown): Promise<number> {
  // commander has already written what was wrong, or the help that was asked for.
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

/** The failure in one line, or null for a defect, which is shown with its stack. */
async function asCommandError(error: unknown): Promise<CommandError | null> {
  if (error instanceof CommandError) return error;
  if (!(error instanceof Error)) return null;
  if (error.name === "MillraceError") {
    const { commandError } = await import("./connection.ts");
    return commandError(error as Parameters<typeof commandError>[0]);
  }
  return error.name === "ConfigError" || error.name === "OperationalError" ? new CommandError(error.message) : null;
}
