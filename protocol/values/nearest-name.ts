/** Finds the name that was probably meant. */

/** The closest of the names by edit distance, or null if none is close (more than a third of its letters differ). */
export function nearestName(name: string, names: readonly string[]): string | null {
  let nearest: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  const given = name.toLowerCase();
  for (const candidate of names) {
    // The distance is at least the difference in length, and computing it takes time in proportion to both lengths.
    if (Math.abs(candidate.length - given.length) > letters(candidate)) continue;
    const distance = editDistance(given, candidate.toLowerCase());
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest !== null && least <= letters(nearest) ? nearest : null;
}

/** In how many letters a close name may differ. */
function letters(name: string): number {
  return Math.max(1, Math.floor(name.length / 3));
}

/** Levenshtein distance with one row of memory. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
