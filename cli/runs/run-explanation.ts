/** `millrace runs explain`: why a run waits, and what it waited for before. */
import type { PastWait, RunExplanation } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { dateTime, duration } from "../terminal/format.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { timeOf } from "../terminal/value.ts";
import { stateLine } from "./run-details.ts";
import { positive } from "./runs.ts";

export interface ExplainOptions extends ConnectionOptions {
  at?: string;
}

export async function explainRun(idText: string, options: ExplainOptions): Promise<number> {
  const id = positive("the id of a run", idText);
  const at = options.at === undefined ? undefined : timeOf(options.at);
  const { runs } = connect(options);
  const [explanation, waited] = await Promise.all([runs.explain(id), runs.waited(id, { at })]);
  const out = new Terminal(process.stdout);
  if (options.json === true) out.json({ ...explanation, waited });
  else for (const line of renderExplanation(explanation, waited, out)) out.line(line);
  return EXIT.ok;
}

export function renderExplanation(
  { state, reason, holders }: RunExplanation,
  waited: readonly PastWait[],
  terminal: Terminal,
): string[] {
  const held = holders.map(({ run_id, run_name }) => `  held by run ${run_id} ${printable(run_name)}`);
  const before = waited.flatMap(({ from, to, text, holders: former }) => [
    `${dateTime(from)}  ${to === from ? "" : `${duration(to - from)}  `}${printable(text)}`,
    ...former.map(({ run_id, run_name }) => `  run ${run_id} ${printable(run_name)}`),
  ]);
  return [
    stateLine(state, terminal),
    ...(reason === null || reason === undefined ? [] : [`Waits: ${printable(reason.text)}`, ...held]),
    ...(before.length === 0 ? ["It has waited for nothing that was recorded."] : before),
  ];
}
