/** Direction marks in the text of users: after one of them a line runs backwards until another closes it. */
const MARKS = /[\u202A-\u202E\u2066-\u2069]/g;

/**
 * A sentence with text of users, as one string: direction marks are shown by their code, so that the order of the text is kept.
 * In markup, <bdi> confines them to the user's text.
 */
export function withMarksShown(text: string): string {
  return text.replace(MARKS, (mark) => `\\u${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
