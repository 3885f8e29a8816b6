/** Shows data once, or with --watch until it is interrupted: as text, as an updated screen, or as JSON. */

import type { Millrace, StreamFilter, StreamMessage } from "#sdk/client/index";
import type { ConnectionOptions } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { Terminal } from "./terminal.ts";

export interface ViewOptions extends ConnectionOptions {
  watch?: boolean;
}

export interface View<Data> {
  read(): Promise<Data>;
  /** The part that `--json` writes. */
  json?(data: Data): unknown;
  lines(data: Data, terminal: Terminal): string[];
  /** The messages that may matter. */
  messages: StreamFilter;
  /** Whether a stream message makes another read necessary. */
  changedBy(message: StreamMessage): boolean;
}

/** Changes are gathered for this long before the data are read again. */
const GATHER_MS = 200;
/** How often durations on the screen are updated. */
const TICK_MS = 1_000;

/** Shows a view on standard output; with --watch until it is interrupted. Returns the exit code. */
export async function show<Data>(client: Millrace, options: ViewOptions, view: View<Data>): Promise<number> {
  const out = new Terminal(process.stdout);
  if (options.watch === true) await new Watch(client, options, view, out).untilInterrupted();
  else if (options.json === true) out.json(jsonOf(view, await view.read()));
  else for (const line of view.lines(await view.read(), out)) out.line(line);
  return EXIT.ok;
}

function jsonOf<Data>({ json }: View<Data>, data: Data): unknown {
  return json === undefined ? data : json(data);
}

class Watch<Data> {
  readonly #client: Millrace;
  readonly #json: boolean;
  readonly #view: View<Data>;
  readonly #out: Terminal;
  readonly #end = new AbortController();
  #data: Data | undefined;
  #shown = "";
  #changed = false;
  #reading: Promise<void> | null = null;

  constructor(client: Millrace, options: ViewOptions, view: View<Data>, out: Terminal) {
    this.#client = client;
    this.#json = options.json === true;
    this.#view = view;
    this.#out = out;
  }

  async untilInterrupted(): Promise<void> {
    const interrupt = () => this.#end.abort();
    process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
    const ticks = this.#out.live && !this.#json ? setInterval(() => this.#draw(), TICK_MS) : undefined;
    try {
      for await (const message of this.#client.stream({ ...this.#view.messages, signal: this.#end.signal })) {
        if (message.event === "hello") await this.#read();
        else if (message.event === "resync" || this.#view.changedBy(message)) this.#readSoon();
      }
      // The result of the last change is still shown.
      await this.#reading;
    } finally {
      clearInterval(ticks);
      process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
    }
  }

  #readSoon(): void {
    this.#changed = true;
    this.#reading ??= this.#readChanges();
  }

  /** One read at a time, so that an older state never replaces a newer one. */
  async #readChanges(): Promise<void> {
    while (this.#changed) {
      await new Promise<void>((resolve) => setTimeout(resolve, GATHER_MS));
      this.#changed = false;
      // The stream reports a server that is gone, and triggers a read when it is back.
      await this.#read().catch(() => undefined);
    }
    this.#reading = null;
  }

  async #read(): Promise<void> {
    this.#data = await this.#view.read();
    this.#draw();
  }

  #draw(): void {
    if (this.#data === undefined) return;
    if (this.#out.live && !this.#json) {
      this.#out.screen(this.#view.lines(this.#data, this.#out));
      return;
    }
    // In a pipe each state is written once.
    const text = this.#json ? JSON.stringify(jsonOf(this.#view, this.#data)) : this.#view.lines(this.#data, this.#out).join("\n");
    if (text === this.#shown) return;
    this.#out.line(this.#json || this.#shown === "" ? text : `\n${text}`);
    this.#shown = text;
  }
}
