/** `millrace runs input`: the question of a paused run, and the answer to it. */

import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Run } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { dateTime } from "../terminal/format.ts";
import { printable, Terminal } from "../terminal/terminal.ts";
import { jsonOrText } from "../terminal/value.ts";
import { positive } from "./runs.ts";

export interface InputOptions extends ConnectionOptions {
  /** The answer is this text, even if it could be parsed as JSON. */
  text?: boolean;
}

/** Without an answer, shows the question, and prompts for the answer if standard input is a terminal. */
export async function inputRun(idText: string, given: string | undefined, options: InputOptions): Promise<number> {
  const id = positive("the id of a run", idText);
  const client = connect(options);
  const run = await client.runs.get(id);
  const out = new Terminal(process.stdout);
  if (run.state.type !== "Paused") {
    if (given !== undefined) throw new CommandError(`run ${id} is ${run.state.name}, not Paused`);
    out.json({ question: null, answers: await client.runs.answers(id) });
    return EXIT.ok;
  }
  if (given === undefined && (options.json === true || !process.stdin.isTTY)) {
    out.json({ question: questionOf(run), answers: await client.runs.answers(id) });
    return EXIT.ok;
  }
  const text = given ?? (await askFor(run, out));
  const answer = options.text === true || takesText(run) ? text : jsonOrText(text);
  const resumed = await client.runs.resume(id, answer);
  if (options.json === true) out.json(resumed);
  else out.line(`Run ${id} goes on with ${printable(JSON.stringify(answer))}.`);
  return EXIT.ok;
}

function questionOf(run: Run): Record<string, unknown> {
  return { prompt: run.state.message, ...run.state.details };
}

function takesText(run: Run): boolean {
  const schema = run.state.details?.["schema"] as { type?: unknown } | null | undefined;
  return schema?.type === "string";
}

async function askFor(run: Run, out: Terminal): Promise<string> {
  const { schema } = run.state.details ?? {};
  out.line(`${out.paint("bold", printable(run.state.message ?? ""))}  ${out.paint("dim", dateTime(run.state.timestamp))}`);
  if (schema != null) out.line(out.paint("dim", printable(JSON.stringify(schema))));
  out.write("> ");
  const lines = createInterface({ input: process.stdin });
  const [answer] = (await Promise.race([once(lines, "line"), once(lines, "close").then(() => [null])])) as [string | null];
  lines.close();
  if (answer === null) throw new CommandError("no answer was given", null, EXIT.otherEnd);
  return answer;
}
