/**
 * Brings the reader back to where an entry of the history was left. The page comes in parts: as it grows, the window follows until it
 * is there, which makes long lists load the pages on the way. Whatever the reader does ends it.
 */

/** A page that has not grown so far by then has less on it than before. */
const GIVE_UP_MS = 5_000;
const OWN_MOVES = ["wheel", "touchmove", "pointerdown", "keydown"] as const;

let restoring: { observer: ResizeObserver; timer: number } | null = null;

export function isRestoring(): boolean {
  return restoring !== null;
}

export function endRestoring(): void {
  if (restoring === null) return;
  restoring.observer.disconnect();
  window.clearTimeout(restoring.timer);
  for (const move of OWN_MOVES) window.removeEventListener(move, endRestoring);
  restoring = null;
}

export function restoreScroll(y: number): void {
  endRestoring();
  window.scrollTo(0, y);
  if (y === 0) return;
  const observer = new ResizeObserver(() => window.scrollTo(0, y));
  observer.observe(document.body);
  restoring = { observer, timer: window.setTimeout(endRestoring, GIVE_UP_MS) };
  for (const move of OWN_MOVES) window.addEventListener(move, endRestoring, { passive: true });
}
