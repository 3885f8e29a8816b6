/** `millrace backup` and `millrace restore`. */
import { CommandError, EXIT } from "../exit-code.ts";
import { ownStore } from "../own-home.ts";
import { counted } from "../terminal/format.ts";
import { Terminal } from "../terminal/terminal.ts";

export interface CopyOptions {
  home?: string;
  url?: string;
  overwrite?: boolean;
  json?: boolean;
}

/** Errors of these commands that the user can resolve, by name. */
const EXPECTED = new Set(["HomeLockedError", "OperationalError", "StorageError", "TransferError"]);

export async function backup(file: string, options: CopyOptions): Promise<number> {
  const { backUp } = await import("#server/operations/backup");
  const made = await told(backUp(await ownStore(options), file, options.overwrite === true));
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json(made);
  else {
    out.line(`${made.file}: ${contents(made)}; checked.`);
    if (made.secrets > 0)
      out.line(
        `Its ${counted(made.secrets, "secret")} can be read with secret.key of the home only: keep that file too, elsewhere.`,
      );
  }
  return EXIT.ok;
}

export async function restore(file: string, options: CopyOptions): Promise<number> {
  const operations = await import("#server/operations/restore");
  const done = await told(operations.restore(await ownStore(options), file));
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json(done);
  else {
    out.line(`${done.home} holds ${contents(done)}, from ${file}.`);
    if (done.aside !== null) out.line(`The former store is kept as ${done.aside}.`);
    if (!done.counters_kept)
      out.line("It could not be read: ids of runs created after the backup will be given again, so end engines that still run.");
  }
  return EXIT.ok;
}

function contents({ runs, events, bytes }: { runs: number; events: number; bytes: number }): string {
  return `${counted(runs, "run")}, ${counted(events, "event")}, ${counted(Math.ceil(bytes / 1024), "KiB", "KiB")}`;
}

/** The result, or its error as one that the command line explains. */
export async function told<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof Error) || !EXPECTED.has(error.name)) throw error;
    throw new CommandError(error.message, error.name === "HomeLockedError" ? "Stop it first with `millrace stop`." : null);
  }
}
