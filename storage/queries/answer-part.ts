/**
 * Answers that are made part by part: a part holds a bounded amount of rows, which are read one by one, and says with which
 * arguments the same query makes the next part. Nothing is kept between two parts: any reader can make the next one, and what
 * was added or deleted meanwhile is there or not.
 */
import { ANSWER_PAGE_BYTES_MAX, ANSWER_PART_BYTES_MAX } from "#protocol/limits";

/** JSON text, from the beginning of an answer or after another part. */
export interface AnswerPart<A> {
  text: string;
  /** What the query makes the next part from; null: this is the last one. */
  next: A | null;
}

/** What the arguments of a query say besides when they ask for a part that is not the first. */
export interface Continued {
  /** Length of the items in the parts before; absent for the first part. */
  made?: number;
}

/** What the arguments of a page may say besides. */
export interface PageArguments extends Continued {
  /** Length at which the page ends early; asked for by the server itself. */
  length_max?: number;
}

/** An answer that is small whatever is stored. */
export function wholeAnswer(text: string): AnswerPart<never> {
  return { text, next: null };
}

interface Filled<Row> {
  text: string;
  count: number;
  /** The last row in the text. */
  last: Row | null;
  /** There is a row after it. */
  more: boolean;
}

interface Bounds {
  count: number;
  length: number;
}

/** Rows with what they cost besides the length of their text, as if it were text. */
export type Weigh<Row> = (row: Row) => number;

function fill<Row>(begun: boolean, rows: Iterable<Row>, render: (row: Row) => string, bounds: Bounds, weigh?: Weigh<Row>) {
  const filled: Filled<Row> = { text: "", count: 0, last: null, more: false };
  let weight = 0;
  for (const row of rows) {
    if (filled.count >= bounds.count || weight >= bounds.length) {
      filled.more = true;
      break;
    }
    const item = render(row);
    filled.text += begun || filled.count > 0 ? `,${item}` : item;
    weight += item.length + (weigh?.(row) ?? 0);
    filled.count += 1;
    filled.last = row;
  }
  return filled;
}

/** A part of a JSON array; `rest` names the arguments that make what follows a row, of which `count` are done. */
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
  /** One more than the limit where there are more. */
  rows: Iterable<Row>;
  render: (row: Row) => string;
  weigh?: Weigh<Row>;
  /** The cursor behind a row. */
  cursor: (row: Row) => number;
  /** The cursor of a page that ends with the last row there is. */
  reached?: number | null;
  /** Arguments that make the rest of the page. */
  rest: (last: Row, count: number) => Partial<A>;
  /** False where no cursor leads on: such a page is as long as it was asked for. */
  endsEarly?: boolean;
}

/** A part of a page object. */
export function pagePart<Row, A extends PageArguments>(args: A, page: PageRows<Row, A>): AnswerPart<A> {
  const { made, length_max = ANSWER_PAGE_BYTES_MAX } = args;
  const left = page.endsEarly === false ? Number.POSITIVE_INFINITY : length_max - (made ?? 0);
  const bounds = { count: page.limit, length: Math.min(ANSWER_PART_BYTES_MAX, left) };
  const { text, count, last, more } = fill(made !== undefined, page.rows, page.render, bounds, page.weigh);
  const opened = made === undefined ? `{"items":[${text}` : text;
  if (!more || last === null) return { text: `${opened}],"next_cursor":${page.reached ?? null}}`, next: null };
  if (count >= page.limit || text.length >= left) return { text: `${opened}],"next_cursor":${page.cursor(last)}}`, next: null };
  return { text: opened, next: { ...args, ...page.rest(last, count), made: (made ?? 0) + text.length } };
}
