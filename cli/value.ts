/** Values on a command line: JSON where it is JSON, else text. */

/** So that 3, true and [1, 2] are what they look like. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
