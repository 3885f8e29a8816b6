/** A served folder whose server and engines are killed and stopped, and whose code is edited, at random times. */
import { appendFileSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Millrace } from "#sdk/client/index";
import type { Random } from "../../sim/random.ts";
import { ServedFolder, signalProcess } from "../served-folder.ts";

const SETTINGS = "[server]\ncrash_rerun_delay_secs = [0.05, 0.1]\n";
/** Time for which an engine is stopped; it keeps its runs. */
const STOP_MS = { least: 300, most: 3_000 };

export type Disturbance = "engine" | "server" | "stop" | "edit";

export class DisturbedFolder {
  readonly home: string;
  readonly counts: Partial<Record<Disturbance, number>> = {};
  readonly #folder: string;
  readonly #settings: string;
  readonly #random: Random;
  #served: ServedFolder;
  /** How often the server was killed, or is being killed. */
  #restarts = 0;
  #isUp = true;

  private constructor(folder: string, home: string, settings: string, random: Random, served: ServedFolder) {
    this.#folder = folder;
    this.home = home;
    this.#settings = settings;
    this.#random = random;
    this.#served = served;
  }

  /** @param settings further lines of millrace.toml */
  static async start(folder: string, settings: string, random: Random): Promise<DisturbedFolder> {
    const home = mkdtempSync(join(folder, "ordinary-home-"));
    const all = SETTINGS + settings;
    return new DisturbedFolder(folder, home, all, random, await ServedFolder.start(folder, { settings: all, home }));
  }

  /** The server that runs now. */
  get served(): ServedFolder {
    return this.#served;
  }

  get client(): Millrace {
    return this.#served.client;
  }

  /** A number that changes when the server is killed; odd while none is up. */
  get outages(): number {
    return 2 * this.#restarts - (this.#isUp ? 0 : 1);
  }

  async disturb(kind: Disturbance): Promise<void> {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1;
    switch (kind) {
      case "engine":
        await this.#served.killEngine(this.#random.next());
        return;
      case "stop":
        await this.#stopEngine();
        return;
      case "edit":
        appendFileSync(join(this.#folder, "flows/parts.ts"), `// ${this.#random.below(1_000_000)}\n`);
        return;
      case "server":
        this.#restarts += 1;
        this.#isUp = false;
        await this.#served.kill();
        this.#served = await ServedFolder.start(this.#folder, { settings: this.#settings, home: this.home });
        this.#isUp = true;
    }
  }

  async #stopEngine(): Promise<void> {
    const pid = await this.#served.signalEngine("SIGSTOP", this.#random.next());
    if (pid === null) return;
    void pause(this.#random.between(STOP_MS.least, STOP_MS.most)).then(() => signalProcess(pid, "SIGCONT"));
  }
}
