/**
 * Restores the scroll position of a history entry. The page arrives in parts: as the page grows, the window follows until the
 * position is reached, which makes long lists load the pages on the way. Any input of the user ends this.
 */

/** A page that has not grown far enough by this time has less content than before. */
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
