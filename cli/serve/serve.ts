/** `millrace serve`: starts, prints what is served, and stops on a signal. */

import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { type ConfigFlags, loadConfig } from "#server/config/config";
import { CommandError } from "../exit-code.ts";
import { goOnWithoutOutput } from "../terminal/output-errors.ts";
import { Terminal } from "../terminal/terminal.ts";
import { type RunningServer, startServer } from "./running-server.ts";
import { flowsToName } from "./shared-engines.ts";
import { renderStartScreen } from "./start-screen.ts";
import { notifySystemd } from "./systemd.ts";

export async function serve(dir: string, flags: ConfigFlags): Promise<number> {
  const startedMs = performance.now();
  const servedDir = resolve(dir);
  if (!statSync(servedDir, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CommandError(`${servedDir} is not a directory`, "Name the directory with your flow files: millrace serve DIR");
  }
  goOnWithoutOutput();
  const out = new Terminal(process.stdout);
  const errors = new Terminal(process.stderr);
  const loaded = loadConfig(flags, process.env, servedDir);
  for (const warning of loaded.warnings) errors.line(`${errors.paint("yellow", "millrace:")} ${warning}`);
  // Otherwise a signal during the start would end the process and leave its files behind.
  const signals = new StopSignals(errors);
  const server = await startServer(loaded, servedDir, signals.asked);
  signals.stopWith(server, loaded.config.drainSecs);
  const screen = renderStartScreen(
    {
      url: server.url,
      servedDir,
      config: loaded.config,
      discovery: server.discovery,
      sharing: flowsToName(loaded.config, server.discovery),
      startMs: performance.now() - startedMs,
    },
    out,
  );
  if (!signals.asked.aborted) for (const line of screen) out.line(line);
  notifySystemd("--ready");
  if (loaded.config.openBrowser && out.live) openBrowser(server.url);
  const exitCode = await server.stopped;
  signals.end();
  if (out.live) out.line("Stopped.");
  return exitCode;
}

/**
 * After a signal the start continues without the remaining files, so that it can stop in order, but not for longer than this.
 */
const START_LEFT_MS = 10_000;

/** First signal: orderly stop. Second: exit at once, whatever is under way; the store survives that. */
class StopSignals {
  #server: RunningServer | null = null;
  readonly #asked = new AbortController();
  #limit: NodeJS.Timeout | undefined;
  readonly #terminal: Terminal;
  /** How to send a second signal, depending on the source of the first. */
  #again = "Ctrl-C";
  readonly #handler = (signal: NodeJS.Signals) => this.#signalled(signal);

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    process.on("SIGINT", this.#handler).on("SIGTERM", this.#handler);
  }

  /** Aborted by the first signal. */
  get asked(): AbortSignal {
    return this.#asked.signal;
  }

  stopWith(server: RunningServer, drainSecs: number): void {
    this.#server = server;
    void server.staying.then((runs) => this.#tellStaying(runs, drainSecs));
    clearTimeout(this.#limit);
    if (this.asked.aborted) void server.stop();
  }

  end(): void {
    process.off("SIGINT", this.#handler).off("SIGTERM", this.#handler);
  }

  #tellStaying(runs: number, drainSecs: number): void {
    if (runs === 0) return;
    if (drainSecs > 0) {
      const awaited = runs === 1 ? "1 run" : `${runs} runs`;
      this.#terminal.line(`Waiting up to ${drainSecs} s for ${awaited}. A second ${this.#again} ends the server at once.`);
      return;
    }
    const which = runs === 1 ? "1 run goes on in its engine" : `${runs} runs go on in their engines`;
    this.#terminal.line(`${which}; the next server on this home takes over. A second ${this.#again} ends only the server.`);
  }

  #signalled(signal: NodeJS.Signals): void {
    this.#again = signal === "SIGINT" ? "Ctrl-C" : signal;
    if (this.asked.aborted) process.kill(process.pid, "SIGKILL");
    this.#asked.abort();
    notifySystemd("--stopping");
    if (this.#server === null) this.#limit = setTimeout(() => process.kill(process.pid, "SIGKILL"), START_LEFT_MS).unref();
    if (this.#terminal.live) this.#terminal.line("\nStopping. Press Ctrl-C again to stop at once.");
    void this.#server?.stop();
  }
}

/** A browser that does not open is not an error: the address is on the screen. */
function openBrowser(url: string): void {
  const [program, ...args] =
    process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["cmd", "/c", "start", ""] : ["xdg-open"];
  const onDesktop = process.platform !== "linux" || process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"];
  if (!onDesktop || program === undefined) return;
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
