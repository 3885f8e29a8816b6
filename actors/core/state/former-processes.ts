/**
 * Processes whose engine was forgotten. When another process has taken the name of the engine, a request of the former one may
 * still be on its way: it is no request of the engine.
 */

/** No request is on its way for longer: long-polls are answered within 30 s, and a connection is cut 25 s later. */
const KEPT_US = 60_000_000;

export class FormerProcesses {
  /** When each was forgotten, oldest first. */
  readonly #forgottenUs = new Map<string, number>();

  add(engine: string, pid: number, uptimeUs: number): void {
    for (const [process, us] of this.#forgottenUs) {
      if (us + KEPT_US > uptimeUs) break;
      this.#forgottenUs.delete(process);
    }
    const process = `${pid} ${engine}`;
    this.#forgottenUs.delete(process);
    this.#forgottenUs.set(process, uptimeUs);
  }

  has(engine: string, pid: number, uptimeUs: number): boolean {
    const us = this.#forgottenUs.get(`${pid} ${engine}`);
    return us !== undefined && us + KEPT_US > uptimeUs;
  }
}
