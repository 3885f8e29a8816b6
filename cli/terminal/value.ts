/** Values on a command line: JSON if the text is valid JSON, else text. */

import { parseJson } from "#protocol/values/json";

/** Keeps the types of 3, true and [1, 2], and the digits of large integers. */
export function jsonOrText(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
