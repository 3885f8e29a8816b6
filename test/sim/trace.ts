/** The last trace lines, for the report of a violation. */

const LINES_KEPT = 30;

/** A rule of the system was violated; the message names the rule and the facts. */
export class Violation extends Error {
  readonly rule: string;

  constructor(rule: string, message: string) {
    super(`${rule}: ${message}`);
    this.rule = rule;
  }
}

export class Trace {
  readonly #lines: string[] = [];
  /** Receives every line, for examining one seed closely. */
  readonly #echo: ((line: string) => void) | null;
  readonly #nowUs: () => number;
  #digest = 0;

  constructor(nowUs: () => number, echo: ((line: string) => void) | null = null) {
    this.#nowUs = nowUs;
    this.#echo = echo;
  }

  add(text: string): void {
    const line = `${(this.#nowUs() / 1e6).toFixed(6)} ${text}`;
    for (let at = 0; at < line.length; at += 1) this.#digest = (Math.imul(this.#digest, 31) + line.charCodeAt(at)) | 0;
    this.#echo?.(line);
    this.#lines.push(line);
    if (this.#lines.length > LINES_KEPT) this.#lines.shift();
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** A hash of all lines so far: equal for two runs of one seed. */
  get digest(): number {
    return this.#digest;
  }
}

/** What a commit changes, in one line: the number of its operations, and the runs. */
export function summaryOf(operations: readonly { name: string; number(column: string): number }[]): string {
  const runs = operations.filter(({ name }) => name.endsWith("_run") && name !== "put_task_run");
  return `${operations.length} operations${runs.map((one) => `, ${one.name} ${one.number("id")}`).join("")}`.slice(0, 200);
}
