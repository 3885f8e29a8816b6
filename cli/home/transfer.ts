/** `millrace export` and `millrace import FILE`. */
import { clientHome } from "#sdk/client/local-server";
import { CommandError, EXIT } from "../exit-code.ts";
import { ownStore } from "../own-home.ts";
import { counted } from "../terminal/format.ts";
import { ProgressLine } from "../terminal/progress-line.ts";
import { Terminal } from "../terminal/terminal.ts";
import { told } from "./backup.ts";

export interface TransferOptions {
  home?: string;
  url?: string;
  store?: string;
  overwrite?: boolean;
  json?: boolean;
}

export async function exportTo(file: string, options: TransferOptions): Promise<number> {
  const { exportStore } = await import("#server/operations/transfer");
  const progress = new TransferProgress();
  const work = exportStore(await placeOf(options), file, options.overwrite === true, (table, rows) =>
    progress.show("exporting", table, rows),
  );
  const made = await told(work.finally(() => progress.end()));
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json(made);
  else {
    const bytes = counted(Math.ceil(made.bytes / 1024), "KiB", "KiB");
    out.line(`${made.file}: ${contents(made.rows)}, ${bytes}, from ${made.store}.`);
    for (const line of beside(options)) out.line(line);
  }
  return EXIT.ok;
}

export async function importFrom(file: string, options: TransferOptions): Promise<number> {
  const { importStore } = await import("#server/operations/transfer");
  const progress = new TransferProgress();
  const work = importStore(await placeOf(options), file, (step, table, rows) => progress.show(step, table, rows));
  const done = await told(work.finally(() => progress.end()));
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json(done);
  else {
    out.line(`${done.store} holds ${contents(done.rows)}, each row compared with ${file}.`);
    if (done.resumed > 0) out.line(`${counted(done.resumed, "row")} had been stored by an import that was interrupted.`);
    if (done.changed > 0)
      out.line(`${counted(done.changed, "row")} had NUL characters, which PostgreSQL does not store: U+FFFD replaces them.`);
  }
  return EXIT.ok;
}

/** The home or the database. */
async function placeOf(options: TransferOptions): Promise<string> {
  if (options.store !== undefined && options.home !== undefined)
    throw new CommandError("--store and --home name two stores", "Leave one out.");
  const { home, database } = await ownStore(options);
  return database?.url ?? home;
}

/** What belongs to a store and lies in files of its home. */
function beside({ home }: TransferOptions): string[] {
  return [
    `Secrets need secret.key of ${clientHome(home)}, and large results of steps its folder results: keep both for the new store.`,
  ];
}

function contents(rows: Readonly<Record<string, number>>): string {
  return `${counted(rows["runs"] ?? 0, "run")}, ${counted(rows["events"] ?? 0, "event")}`;
}

/** A line on the standard error, where that is a terminal. */
class TransferProgress {
  readonly #line = new ProgressLine(new Terminal(process.stderr));
  #text = "";

  show(step: string, table: string, rows: number): void {
    this.#text = `${step} ${table}: ${counted(rows, "row")}`;
    this.#line.show(() => this.#text);
  }

  end(): void {
    this.#line.end();
  }
}
