/** The current time: one clock for everything that ticks, once per second while the page is visible. */
import { signal } from "@preact/signals";

/** Milliseconds since the Unix epoch, at the last tick. Components that read it are redrawn each second. */
export const now = signal(Date.now());

/** Microseconds since the Unix epoch, without ticking. */
export function nowUs(): number {
  return Date.now() * 1000;
}

let timer = 0;

function tick(): void {
  now.value = Date.now();
  // At the change of the second, so that ticking figures change together with the clock.
  timer = window.setTimeout(tick, 1000 - (Date.now() % 1000));
}

export function startClock(): void {
  document.addEventListener("visibilitychange", () => {
    window.clearTimeout(timer);
    if (!document.hidden) tick();
  });
  tick();
}
