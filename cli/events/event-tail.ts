/** `millrace events tail`: the newest events, then new ones as they occur. */

import type { Event, Millrace, StreamFilter } from "#sdk/client/index";
import { type ConnectionOptions, connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { findFlow, parseTarget } from "../run/flow-target.ts";
import { positive } from "../runs/runs.ts";
import { clockTime, dateTime } from "../terminal/format.ts";
import { printable, Terminal } from "../terminal/terminal.ts";

export interface TailOptions extends ConnectionOptions {
  name?: string;
  run?: string;
  flow?: string;
  lines: string;
  /** False for --no-follow. */
  follow: boolean;
}

interface Filter {
  name?: string | undefined;
  run_id?: number | undefined;
  flow_id?: number | undefined;
}

/** Events per page when catching up. */
const PAGE = 500;

export async function tailEvents(options: TailOptions): Promise<number> {
  const count = options.lines === "0" ? 0 : positive("--lines", options.lines);
  const client = connect(options);
  const filter: Filter = {
    name: options.name,
    run_id: options.run === undefined ? undefined : positive("--run", options.run),
    flow_id: options.flow === undefined ? undefined : await flowId(client, options.flow),
  };
  const tail = new EventTail(client, filter, options.json === true);
  if (options.follow) await tail.follow(count);
  else await tail.newest(count);
  return EXIT.ok;
}

async function flowId(client: Millrace, text: string): Promise<number> {
  const target = parseTarget(text);
  const { project, flow } = target.kind === "name" ? target : { project: null, flow: text };
  return (await findFlow(client, { kind: "name", project, flow })).id;
}

class EventTail {
  readonly #client: Millrace;
  readonly #filter: Filter;
  readonly #json: boolean;
  readonly #out = new Terminal(process.stdout);
  /** Id of the last event written; events at or below it are skipped. */
  #last = 0;

  constructor(client: Millrace, filter: Filter, json: boolean) {
    this.#client = client;
    this.#filter = filter;
    this.#json = json;
  }

  async newest(count: number): Promise<void> {
    const events = await this.#client.events.list(this.#filter, { pageSize: Math.min(Math.max(count, 1), PAGE) }).first(count);
    for (const event of events.reverse()) this.#write(event);
  }

  /** Follows until it is interrupted. */
  async follow(count: number): Promise<void> {
    const end = new AbortController();
    const interrupt = () => end.abort();
    process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
    let begun = false;
    const { name, run_id, flow_id } = this.#filter;
    const filter: StreamFilter = { run_id, flow_id, kinds: ["event.created"], names: name === undefined ? undefined : [name] };
    try {
      for await (const message of this.#client.stream({ ...filter, signal: end.signal })) {
        if (message.event === "event.created" && begun) this.#write(message.data);
        else if (message.event === "hello" && !begun) {
          // Later events arrive on the open stream; #write skips those that are in both.
          await this.newest(count);
          begun = true;
        } else if (message.event === "resync") await this.#catchUp();
      }
    } finally {
      process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
    }
  }

  /** Reads the events that the stream could not deliver from the store. */
  async #catchUp(): Promise<void> {
    const missed: Event[] = [];
    for await (const event of this.#client.events.list(this.#filter, { pageSize: PAGE })) {
      if (event.id <= this.#last) break;
      missed.push(event);
    }
    for (const event of missed.reverse()) this.#write(event);
  }

  #write(event: Event): void {
    if (event.id <= this.#last) return;
    this.#last = event.id;
    if (this.#json) this.#out.line(JSON.stringify(event));
    else this.#out.line(eventLine(event, this.#out));
  }
}

/** One line: time, name, subject, and the remaining payload. */
export function eventLine(event: Event, terminal: Terminal): string {
  const { resource, payload = {} } = event;
  const about = resource.kind === "custom" ? "" : `${resource.kind} ${resource.name || resource.id}`;
  const run = event.run_id == null ? "" : `#${event.run_id}`;
  const said = isMove(payload) ? (payload["message"] ?? "") : Object.keys(payload).length === 0 ? "" : JSON.stringify(payload);
  const time = terminal.live ? clockTime(event.occurred) : dateTime(event.occurred);
  const parts = [terminal.paint("dim", time), terminal.paint("cyan", printable(event.name)), printable(about), run];
  return [...parts, printable(String(said)).replaceAll("\n", " ")].filter((part) => part !== "").join("  ");
}

/** For a move of a run or task run the name contains the rest. */
function isMove(payload: Record<string, unknown>): boolean {
  return "state_type" in payload || "dynamic_key" in payload;
}
