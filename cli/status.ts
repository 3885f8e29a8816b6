/** `millrace status`: whether a server runs, and how it does. */
import type { ServerInfo } from "#sdk/client/index";
import { clientHome, findLocalServer } from "#sdk/client/local-server";
import { type ConnectionOptions, connect } from "./connection.ts";
import { EXIT } from "./exit-code.ts";
import { counted, dateTime, duration } from "./format.ts";
import { printable, Terminal } from "./terminal.ts";

const LABEL_WIDTH = "Engines".length;

/** @throws MillraceError when no server runs, or it does not answer. */
export async function status(options: ConnectionOptions): Promise<number> {
  // Without this, a server that was killed would only be told as an address that does not answer.
  if (options.url === undefined) findLocalServer(clientHome(options.home));
  const client = connect(options);
  const [server, counts] = await Promise.all([client.server(), client.counts()]);
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json({ running: true, ...server, active_runs: counts.active });
  else for (const [label, text] of rows(server, counts.active)) out.line(`${label.padEnd(LABEL_WIDTH)}  ${text}`);
  return EXIT.ok;
}

function rows(server: ServerInfo, active: number): [string, string][] {
  const { url, pid, version, started_at, served_dir, home, engines, queued } = server;
  const busy = engines.filter(({ current_run }) => current_run !== null).length;
  return [
    ["Address", printable(url)],
    ["Version", printable(version)],
    ["Process", `${pid}, since ${dateTime(started_at)} (${duration(Date.now() * 1000 - started_at)})`],
    ["Serving", printable(served_dir ?? "nothing")],
    ["Home", printable(home)],
    ["Engines", `${engines.length}, ${busy} of them busy`],
    ["Runs", `${counted(active, "run")} not ended, ${queued} of them queued`],
  ];
}
