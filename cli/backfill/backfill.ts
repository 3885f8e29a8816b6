/** `millrace backfill`: one run per value of a date or datetime parameter. */
import { type ConnectionOptions, connect } from "../connection.ts";
import { CommandError, EXIT } from "../exit-code.ts";
import { findFlow, parseParameters, parseTarget } from "../run/flow-target.ts";
import { positive } from "../runs/runs.ts";
import { printable, Terminal } from "../terminal/terminal.ts";

export interface BackfillOptions extends ConnectionOptions {
  param: string;
  start: string;
  end: string;
  interval: string;
  concurrency: string;
  reverse?: boolean;
  extra: string[];
  dryRun?: boolean;
}

export async function backfill(target: string, options: BackfillOptions): Promise<number> {
  const parsed = parseTarget(target);
  if (parsed.kind === "file") {
    throw new CommandError("a backfill needs a flow that a server knows", "Name it: FLOW or PROJECT/FLOW.");
  }
  const client = connect(options);
  const flow = await findFlow(client, parsed);
  const body = {
    parameter: options.param,
    start: options.start,
    end: options.end,
    interval: options.interval,
    concurrency: positive("--concurrency", options.concurrency),
    reverse: options.reverse === true,
    extra_parameters: parseParameters(options.extra, flow.parameter_schema),
  };
  const out = new Terminal(process.stdout);
  if (options.dryRun === true) {
    const preview = await client.backfills.preview(flow.id, body);
    if (options.json === true) out.json(preview);
    else out.line(`This would create ${preview.runs} run(s) of ${printable(preview.flow)}, ${preview.first} to ${preview.last}.`);
    return EXIT.ok;
  }
  const created = await client.backfills.create(flow.id, body);
  if (options.json === true) out.json(created);
  else out.line(`backfill ${created.id} created ${created.total} run(s) tagged ${created.tag}`);
  return EXIT.ok;
}
