/**
 * Commands as data: the texts of `millrace --help` and the functions to run. cli/program.ts builds the command line from them.
 */

export interface CommandSpec {
  name: string;
  description: string;
  arguments?: readonly ArgumentSpec[];
  options?: readonly OptionSpec[];
  /** The command connects to a server: --home, --token, --url and --json may follow it. */
  connects?: boolean;
  /** The arguments are parsed elsewhere: nothing is parsed here, not even --help. */
  raw?: boolean;
  /** Subcommands, in place of `run` or beside it: then their names are no first argument of the command. */
  commands?: readonly CommandSpec[];
  /** `args` in order, with omitted ones missing at the end; returns the exit code. Loads only its own code. */
  run?(args: readonly string[], options: object): Promise<number>;
}

/** `<id>` is required, `[id]` is optional, dots take all remaining arguments. */
export interface ArgumentSpec {
  name: string;
  description: string;
  default?: string;
}

/** For commands that can follow changes. */
export const WATCH: OptionSpec = {
  flags: "-w, --watch",
  description: "keep showing changes; with --json one line for each",
};

export interface OptionSpec {
  /** As shown: "-p, --param <key=value>". */
  flags: string;
  description: string;
  default?: string;
  required?: boolean;
  /** May be given more than once; the values become a list. */
  repeats?: boolean;
}
