/** Tells the gateway and the server's log that the store takes no changes, why, and when it takes them again. */
import type { ReadOnly } from "#protocol/wire/feed";
import type { Outbox } from "#runtime/effect";
import { GATEWAY, SERVER_LOG } from "../names.ts";

/** After this time without an answer, clients are told that the store takes no changes. */
const SILENT_US_MAX = 1_000_000;
const US_PER_MS = 1_000;

export class StoreCondition {
  readonly #nowUs: () => number;
  /** Since when the store has not answered; null while the store answers. */
  #silentSinceUs: number | null = null;
  /** Whether the gateway knows that the store takes no changes. */
  #isTold = false;

  constructor(nowUs: () => number) {
    this.#nowUs = nowUs;
  }

  /** The store refuses changes. */
  refuses(error: string, diskFull: boolean, out: Outbox): void {
    this.#silentSinceUs = null;
    this.#tell({ kind: "ReadOnly", on: true, status: diskFull ? 507 : 503, error, since: this.#nowUs() }, out);
  }

  /** The connection to the store is lost. */
  isLost(): void {
    this.#silentSinceUs ??= this.#nowUs();
  }

  /** The store has not answered since then. Requests are refused once that has lasted for a while; reads and engines go on. */
  isSilent(sinceUs: number, error: string, out: Outbox): void {
    this.#silentSinceUs ??= sinceUs;
    const since = this.#silentSinceUs;
    if (this.#isTold || this.#nowUs() - since < SILENT_US_MAX) return;
    this.#tell({ kind: "ReadOnly", on: true, status: 503, error, since, silent: true }, out);
  }

  /** The store takes changes, or has answered. */
  answers(out: Outbox): void {
    if (this.#isTold) {
      out.send(GATEWAY, { kind: "ReadOnly", on: false, status: 503, error: "", since: 0 } satisfies ReadOnly);
      log("info", "the store takes changes again", out);
    } else if (this.#silentSinceUs !== null) {
      const ms = Math.round((this.#nowUs() - this.#silentSinceUs) / US_PER_MS);
      log("warn", `the connection to the store was lost, and was made again after ${ms} ms`, out);
    }
    this.#silentSinceUs = null;
    this.#isTold = false;
  }

  #tell(message: ReadOnly, out: Outbox): void {
    this.#isTold = true;
    out.send(GATEWAY, message);
    log("warn", `the store takes no changes: ${message.error}`, out);
  }
}

function log(level: "info" | "warn", text: string, out: Outbox): void {
  out.send(SERVER_LOG, { level, text });
}
