/**
 * Preloaded into a server's threads: offsets its wall clock by the milliseconds in the file that MILLRACE_TEST_CLOCK names.
 * The machine's own clock and the time since boot are unaffected.
 */
import { readFileSync } from "node:fs";

const FILE = process.env["MILLRACE_TEST_CLOCK"] ?? "";
const READ_EVERY_MS = 50;
const trueNow = Date.now;
let offsetMs = 0;
let readMs = Number.NEGATIVE_INFINITY;

Date.now = () => {
  const elapsedMs = performance.now();
  if (elapsedMs - readMs > READ_EVERY_MS) {
    readMs = elapsedMs;
    offsetMs = Number(readFileSync(FILE, "utf8"));
  }
  return trueNow() + offsetMs;
};
