/**
 * Finds the items of one list in the text of a large body without parsing it: the events of a report, the runs of a batch. A
 * large body is never in memory as objects.
 */

/** The positions of the items, and the rest of the body. */
export interface ScannedBody {
  /** The body with an empty list in place of its items, as JSON text. */
  head: string;
  /** Offset of each item and of the byte after it, alternating. */
  bounds: number[];
}

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Null for a text that is not an object with a list of this name. The text between the bounds is not checked. */
export function scanItems(text: Buffer, name: string): ScannedBody | null {
  let list: { from: number; to: number; bounds: number[] } | null = null;
  let at = skipSpaces(text, 0);
  if (text[at] !== OPEN_OBJECT) return null;
  do {
    at = skipSpaces(text, at + 1);
    const keyEnd = text[at] === QUOTE ? endOfString(text, at) : 0;
    if (keyEnd === 0) return null;
    const isList = nameOf(text, at, keyEnd) === name;
    at = skipSpaces(text, keyEnd);
    if (text[at] !== COLON) return null;
    const from = skipSpaces(text, at + 1);
    const bounds = isList ? scanList(text, from) : null;
    const to = bounds === null ? endOfValue(text, from) : endOfValue(text, bounds.at(-1) ?? from + 1, true);
    if (to <= from) return null;
    // Of two lists under one name the last counts, as in JSON.parse.
    if (isList) list = bounds === null ? null : { from, to, bounds };
    at = skipSpaces(text, to);
  } while (text[at] === COMMA);
  if (list === null || text[at] !== CLOSE_OBJECT || skipSpaces(text, at + 1) !== text.length) return null;
  const head = `${text.toString("utf8", 0, list.from)}[]${text.toString("utf8", list.to)}`;
  return { head, bounds: list.bounds };
}

/** Bounds of the values of a list that starts here, or null. */
function scanList(text: Buffer, start: number): number[] | null {
  const bounds: number[] = [];
  if (text[start] !== OPEN_LIST) return null;
  let at = skipSpaces(text, start + 1);
  if (text[at] === CLOSE_LIST) return bounds;
  for (;;) {
    const to = endOfValue(text, at);
    if (to <= at) return null;
    bounds.push(at, to);
    at = skipSpaces(text, to);
    if (text[at] === CLOSE_LIST) return bounds;
    if (text[at] !== COMMA) return null;
    at = skipSpaces(text, at + 1);
  }
}

/** The offset after the value that starts here, 0 if it has no end. `inList`: after the list whose last value ended here. */
function endOfValue(text: Buffer, start: number, inList = false): number {
  const first = text[start];
  if (!inList && first === QUOTE) return endOfString(text, start);
  if (!inList && first !== OPEN_OBJECT && first !== OPEN_LIST) return endOfWord(text, start);
  let depth = inList ? 1 : 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text[at];
    if (code === QUOTE) {
      at = endOfString(text, at) - 1;
      if (at < 0) return 0;
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1;
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return 0;
}

/** The end of a number, true, false or null. */
function endOfWord(text: Buffer, start: number): number {
  let at = start;
  for (; at < text.length; at += 1) {
    const code = text[at] ?? 0;
    if (code === COMMA || code === CLOSE_OBJECT || code === CLOSE_LIST || SPACES.has(code)) break;
  }
  return at;
}

/** The offset after the quote that ends the string that starts here, 0 if there is none. */
function endOfString(text: Buffer, start: number): number {
  for (let end = text.indexOf(QUOTE, start + 1); end !== -1; end = text.indexOf(QUOTE, end + 1)) {
    let slashes = end;
    while (text[slashes - 1] === BACKSLASH) slashes -= 1;
    if ((end - slashes) % 2 === 0) return end + 1;
  }
  return 0;
}

/** The name between these quotes, null if it is not valid JSON. */
function nameOf(text: Buffer, from: number, to: number): unknown {
  try {
    return JSON.parse(text.toString("utf8", from, to));
  } catch {
    return null;
  }
}

function skipSpaces(text: Buffer, start: number): number {
  let at = start;
  while (SPACES.has(text[at] ?? 0)) at += 1;
  return at;
}
