/** Marks of direction in the text of users: from one of them on, a line is read backwards until another closes it. */
const MARKS = /[\u202A-\u202E\u2066-\u2069]/g;

/**
 * A sentence that has text of users in it, as one string: the marks are shown by their code, so that nothing turns. In markup
 * <bdi> keeps them to the text of the user.
 */
export function withMarksShown(text: string): string {
  return text.replace(MARKS, (mark) => `\\u${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
