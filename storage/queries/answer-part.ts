/**
 * Answers made in parts: a part reads a bounded amount of rows, one by one, and returns the arguments with which the same
 * query makes the next part. No state is kept between two parts, so any reader can make the next part; rows added or deleted
 * between two parts may or may not appear.
 */
import { ANSWER_PAGE_BYTES_MAX, ANSWER_PART_BYTES_MAX } from "#protocol/limits";

/** JSON text: the start of an answer, or its continuation. */
export interface AnswerPart<A> {
  text: string;
  /** Arguments of the next part; null after the last part. */
  next: A | null;
}

/** Arguments of a query for a part after the first. */
export interface Continued {
  /** Length of the items in earlier parts; absent for the first part. */
  made?: number;
}

/** Optional arguments of a page. */
export interface PageArguments extends Continued {
  /** Length at which the page ends early; set only by the server. */
  length_max?: number;
}

/** An answer that is small whatever the store holds. */
export function wholeAnswer(text: string): AnswerPart<never> {
  return { text, next: null };
}

interface Filled<Row> {
  text: string;
  count: number;
  /** The last row in the text. */
  last: Row | null;
  /** True when rows follow `last`. */
  more: boolean;
}

interface Bounds {
  count: number;
  length: number;
}

function fill<Row>(begun: boolean, rows: Iterable<Row>, render: (row: Row) => string, bounds: Bounds) {
  const filled: Filled<Row> = { text: "", count: 0, last: null, more: false };
  for (const row of rows) {
    if (filled.count >= bounds.count || filled.text.length >= bounds.length) {
      filled.more = true;
      break;
    }
    const item = render(row);
    filled.text += begun || filled.count > 0 ? `,${item}` : item;
    filled.count += 1;
    filled.last = row;
  }
  return filled;
}

/** A part of a JSON array; `rest` gives the arguments for the rows after `last`, the last of the `count` rows in this part. */
export function arrayPart<Row, A extends Continued>(
  args: A,
  rows: Iterable<Row>,
  render: (row: Row) => string,
  rest: (last: Row, count: number) => Partial<A>,
): AnswerPart<A> {
  const { made } = args;
  const bounds = { count: Number.POSITIVE_INFINITY, length: ANSWER_PART_BYTES_MAX };
  const { text, count, last, more } = fill(made !== undefined, rows, render, bounds);
  const opened = made === undefined ? `[${text}` : text;
  if (!more || last === null) return { text: `${opened}]`, next: null };
  return { text: opened, next: { ...args, ...rest(last, count), made: (made ?? 0) + text.length } };
}

export interface PageRows<Row, A> {
  limit: number;
  /** One row more than the limit if there are more. */
  rows: Iterable<Row>;
  render: (row: Row) => string;
  /** The cursor that continues after a row. */
  cursor: (row: Row) => number;
  /** The cursor of a page that ends with the last row found. */
  reached?: number | null;
  /** Arguments for the rest of the page. */
  rest: (last: Row, count: number) => Partial<A>;
  /** False where no cursor can continue the page, so that the page must reach its full length. */
  endsEarly?: boolean;
}

/** A part of a page object. */
export function pagePart<Row, A extends PageArguments>(args: A, page: PageRows<Row, A>): AnswerPart<A> {
  const { made, length_max = ANSWER_PAGE_BYTES_MAX } = args;
  const left = page.endsEarly === false ? Number.POSITIVE_INFINITY : length_max - (made ?? 0);
  const bounds = { count: page.limit, length: Math.min(ANSWER_PART_BYTES_MAX, left) };
  const { text, count, last, more } = fill(made !== undefined, page.rows, page.render, bounds);
  const opened = made === undefined ? `{"items":[${text}` : text;
  if (!more || last === null) return { text: `${opened}],"next_cursor":${page.reached ?? null}}`, next: null };
  if (count >= page.limit || text.length >= left) return { text: `${opened}],"next_cursor":${page.cursor(last)}}`, next: null };
  return { text: opened, next: { ...args, ...page.rest(last, count), made: (made ?? 0) + text.length } };
}
