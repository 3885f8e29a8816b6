/** Values on a command line: JSON where it is JSON, else text. */

import { parseJson } from "#protocol/json";

/** So that 3, true and [1, 2] are what they look like, and large integers keep their digits. */
export function jsonOrText(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
