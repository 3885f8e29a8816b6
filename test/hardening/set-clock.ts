/**
 * Loaded into a server's threads before all else: its wall clock is off by as many milliseconds as the file named by MILLRACE_TEST_CLOCK
 * says. The machine's own clock stays, and so does the time since boot.
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
