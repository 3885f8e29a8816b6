/** The length of texts in characters: code points, as in JSON Schema. */

/** Whether a text has more characters than allowed. Does not count texts that are far too long, which would take a second for 8 MB. */
export function exceedsCharacters(text: string, max: number): boolean {
  // A character has one or two UTF-16 units.
  if (text.length <= max || text.length > 2 * max) return text.length > max;
  return [...text].length > max;
}
