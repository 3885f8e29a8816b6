/** `millrace completion`: scripts for shells, made from the commands and their options. */
import type { CommandSpec } from "../command-spec.ts";
import { COMMANDS } from "../commands.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { CONNECTION_OPTIONS, GLOBAL_OPTIONS } from "../shared-options.ts";

/** Words that may follow a command line. */
interface Completed {
  /** The command as typed, without `millrace`: "runs ls". */
  line: string;
  words: { word: string; description: string }[];
}

const SHELLS: Readonly<Record<string, (all: readonly Completed[]) => string>> = { bash, zsh, fish };

export async function completion(shell: string): Promise<number> {
  const make = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (make === undefined)
    throw new CommandError(`there is no completion for "${shell}"`, `Known are ${Object.keys(SHELLS).join(", ")}.`);
  process.stdout.write(make(completed()));
  return EXIT.ok;
}

function completed(): Completed[] {
  const options = GLOBAL_OPTIONS.map(({ flags, description }) => ({ word: longFlag(flags), description }));
  const top = COMMANDS.map(({ name, description }) => ({ word: name, description }));
  return [
    { line: "", words: [...top, ...options, { word: "--help", description: "print help" }] },
    ...COMMANDS.flatMap((spec) => below(spec, "")),
  ];
}

function below(spec: CommandSpec, above: string): Completed[] {
  const line = `${above} ${spec.name}`.trim();
  const options = [...(spec.options ?? []), ...(spec.connects === true ? CONNECTION_OPTIONS : [])];
  const words = [
    ...(spec.commands ?? []).map(({ name, description }) => ({ word: name, description })),
    ...options.map(({ flags, description }) => ({ word: longFlag(flags), description })),
    { word: "--help", description: "print help" },
  ];
  return [{ line, words }, ...(spec.commands ?? []).flatMap((each) => below(each, line))];
}

/** `-p, --param <key=value>` is --param. */
function longFlag(flags: string): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Finds the longest known command before the cursor; completes files where no word fits. */
function bash(all: readonly Completed[]): string {
  const cases = all.map(({ line, words }) => `    ${quoted(line)}) words=${quoted(words.map(({ word }) => word).join(" "))} ;;`);
  return `# eval "$(millrace completion bash)"
_millrace_words() {
  case "$1" in
${cases.join("\n")}
    *) return 1 ;;
  esac
}
_millrace() {
  local line="" word words="" at
  _millrace_words ""
  for ((at = 1; at < COMP_CWORD; at += 1)); do
    word="\${COMP_WORDS[at]}"
    [[ $word == -* ]] && continue
    if _millrace_words "\${line:+$line }$word"; then line="\${line:+$line }$word"; fi
  done
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _millrace millrace
`;
}

function zsh(all: readonly Completed[]): string {
  const cases = all.map(({ line, words }) => {
    const entries = words.map(({ word, description }) => quoted(`${word.replaceAll(":", "\\:")}:${description}`));
    return `    ${quoted(line)}) words_of=(${entries.join(" ")}) ;;`;
  });
  return `#compdef millrace
# eval "$(millrace completion zsh)"
_millrace_words() {
  case "$1" in
${cases.join("\n")}
    *) return 1 ;;
  esac
}
_millrace() {
  local line="" word
  local -a words_of
  _millrace_words ""
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && continue
    if _millrace_words "\${line:+$line }$word"; then line="\${line:+$line }$word"; fi
  done
  _describe -t commands millrace words_of || _files
}
compdef _millrace millrace
`;
}

function fish(all: readonly Completed[]): string {
  const lines = all.flatMap(({ line, words }) =>
    words.map(({ word, description }) => {
      const what = word.startsWith("--") ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c millrace -n ${quoted(`__millrace_at ${quoted(line)}`)} ${what} -d ${quoted(description)}`;
    }),
  );
  const known = all.map(({ line }) => quoted(line)).join(" ");
  return `# millrace completion fish | source
function __millrace_at
  set -l known ${known}
  set -l line ""
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    set -l longer (string trim "$line $word")
    contains -- $longer $known; and set line $longer
  end
  test "$line" = "$argv[1]"
end
${lines.join("\n")}
`;
}
