/** Commands as data: what `millrace --help` shows and what runs. cli/program.ts makes the command line from it. */

export interface CommandSpec {
  name: string;
  description: string;
  arguments?: readonly ArgumentSpec[];
  options?: readonly OptionSpec[];
  /** It speaks to a server: --home, --token, --url and --json may stand behind it. */
  connects?: boolean;
  /** Its arguments have a command line of their own: nothing is read, not even --help. */
  raw?: boolean;
  /** Commands below it, in place of `run`. */
  commands?: readonly CommandSpec[];
  /** `args` in order, those that were left out missing at the end; gives the exit code. Loads its own code only. */
  run?(args: readonly string[], options: object): Promise<number>;
}

/** `<id>` is needed, `[id]` may be left out, dots take all that follow. */
export interface ArgumentSpec {
  name: string;
  description: string;
  default?: string;
}

export interface OptionSpec {
  /** As shown: "-p, --param <key=value>". */
  flags: string;
  description: string;
  default?: string;
  required?: boolean;
  /** May be given more than once; the values become a list. */
  repeats?: boolean;
}
