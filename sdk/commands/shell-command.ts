import { type CommandOptions, type CommandResult, runCommand } from "./exec.ts";
import { type ShellValue, shellText } from "./shell-text.ts";

/** Options of `sh`. */
export interface ShellOptions extends CommandOptions {
  /** The shell, called with `-c` and the command. Default /bin/sh. */
  shell?: string;
}

type ShellTemplate = (strings: TemplateStringsArray, ...values: ShellValue[]) => Promise<CommandResult>;

/** The two forms of `sh`: with a command, and with options before the command. */
export interface Shell extends ShellTemplate {
  (options: ShellOptions): ShellTemplate;
}

/**
 * Runs a shell command: sh`gzip -k ${path}`. Each value is quoted as one word, a list as one word for each entry, so that no
 * value can change the command. Options come before the template: sh({ cwd: "/data" })`ls`. Everything else is as with exec().
 * @throws TypeError for a value that is no text, number or list of them, and for a value within quotes
 * @throws CommandError as exec() does
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, sh } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const name = "O'Brien; exit 1";
 * const greeting = flow("greeting", async () => (await sh`echo Hello, ${name} | tr a-z A-Z`).stdout);
 *
 * const { result } = await runFlow(greeting);
 * assert.equal(result, "HELLO, O'BRIEN; EXIT 1\n");
 * ```
 */
export const sh: Shell = ((first: TemplateStringsArray | ShellOptions, ...values: ShellValue[]) => {
  if (isTemplate(first)) return runShell({}, first, values);
  return (strings: TemplateStringsArray, ...given: ShellValue[]) => runShell(first, strings, given);
}) as Shell;

async function runShell(
  { shell = "/bin/sh", ...options }: ShellOptions,
  strings: TemplateStringsArray,
  values: readonly ShellValue[],
): Promise<CommandResult> {
  const text = shellText(strings, values);
  return await runCommand(shell, ["-c", text], options, text);
}

function isTemplate(value: TemplateStringsArray | ShellOptions): value is TemplateStringsArray {
  return Array.isArray(value) && "raw" in value;
}
