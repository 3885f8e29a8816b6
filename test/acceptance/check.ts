/** Facts that a scenario of the acceptance checks, and the figures that it prints. */
export class Check {
  readonly failures: string[] = [];

  figure(text: string): void {
    process.stdout.write(`  ${text}\n`);
  }

  that(isSo: boolean, what: string): void {
    if (isSo) return;
    this.failures.push(what);
    process.stdout.write(`  FAILED: ${what}\n`);
  }

  same(found: unknown, expected: unknown, what: string): void {
    const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
    this.that(a === b, `${what}: ${a?.slice(0, 500)} instead of ${b?.slice(0, 500)}`);
  }
}
