/** `millrace variables ls | get | set | rm`. */

import { text as readAll } from "node:stream/consumers";
import type { VariableRow } from "#sdk/client/index";
import { clientHome } from "#sdk/client/local-server";
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { dateTime } from "../terminal/format.ts";
import { renderTable } from "../terminal/table.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { jsonOrText } from "../terminal/value.ts";
import { show, type ViewOptions } from "../terminal/view.ts";

export async function listVariables(options: ViewOptions): Promise<number> {
  const client = connect(options);
  return await show(client, options, {
    read: () => client.variables.list(),
    lines: (rows, out) => (rows.length > 0 ? renderVariables(rows, out) : out.live ? ["There are no variables."] : []),
    messages: { kinds: ["variable.updated"] },
    changedBy: ({ event }) => event === "variable.updated",
  });
}

function renderVariables(rows: readonly VariableRow[], terminal: Terminal): string[] {
  return renderTable(
    [
      { head: "NAME", cell: ({ name }) => printable(name), shrink: true },
      { head: "VALUE", cell: (row) => printable(row.secret ? "secret" : JSON.stringify(row.value)), shrink: true },
      { head: "TAGS", cell: ({ tags }) => printable((tags ?? []).join(", ")), shrink: true },
      { head: "UPDATED", cell: ({ updated_at }) => dateTime(updated_at) },
    ],
    rows,
    terminal,
  );
}

export interface GetOptions extends ConnectionOptions {
  reveal?: boolean;
}

/** Prints the value alone, for scripts: a text unchanged, any other value as JSON. */
export async function getVariable(name: string, options: GetOptions): Promise<number> {
  const client = connect(options);
  const out = new Terminal(process.stdout);
  const row = await client.variables.get(name);
  let { value } = row;
  if (row.secret && options.reveal === true) {
    const { ServerVariables } = await import("#sdk/run/variable-store");
    value = (await new ServerVariables(async () => client, clientHome(options.home)).get(name))?.value;
  }
  if (options.json === true) out.json({ ...row, value });
  else out.line(typeof value === "string" ? value : JSON.stringify(value));
  return EXIT.ok;
}

export interface SetOptions extends ConnectionOptions {
  secret?: boolean;
  plain?: boolean;
  text?: boolean;
  tag: string[];
  /** False for --no-overwrite. */
  overwrite: boolean;
}

/** `given` "-": reads the value from standard input, which keeps it out of the process list. */
export async function setVariable(name: string, given: string, options: SetOptions): Promise<number> {
  if (options.secret === true && options.plain === true) throw new CommandError("--secret and --plain exclude each other");
  const text = given === "-" ? (await readAll(process.stdin)).replace(/\n$/, "") : given;
  const row = await connect(options).variables.set({
    name,
    value: options.text === true ? text : jsonOrText(text),
    secret: options.secret === true ? true : options.plain === true ? false : undefined,
    tags: options.tag.length === 0 ? undefined : options.tag,
    overwrite: options.overwrite,
  });
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json(row);
  else out.line(`${printable(row.name)} is set${row.secret ? ", encrypted" : ""}.`);
  return EXIT.ok;
}

export async function removeVariables(names: readonly string[], options: ConnectionOptions): Promise<number> {
  const client = connect(options);
  const out = new Terminal(process.stdout);
  for (const name of names) {
    await client.variables.delete(name);
    if (options.json !== true) out.line(`${printable(name)} is removed.`);
  }
  if (options.json === true) out.json(names.map((name) => ({ name, deleted: true })));
  return EXIT.ok;
}
