/** The text of a search field, which is a filter in the address. */
import { useEffect, useRef, useState } from "preact/hooks";

export interface TypedText {
  /** The filter as text, from the current address. */
  filter: () => string;
  /** Sets the filter. */
  apply: (text: string) => void;
  /** The user has stopped typing for this long. */
  waitMs: number;
}

/**
 * The text that the field shows, and a function for each input of the user. The text sets the filter when the user pauses, and
 * follows the filter when something else changes it: Back, a link, a button.
 */
export function useTypedText(options: TypedText): [text: string, type: (text: string) => void] {
  const latest = useRef(options);
  latest.current = options;
  const filter = options.filter();
  const [text, setText] = useState(filter);
  /** The filter that belongs to the text. */
  const own = useRef(filter);
  const timer = useRef(0);
  useEffect(() => {
    if (filter === own.current) return;
    own.current = filter;
    window.clearTimeout(timer.current);
    setText(filter);
  }, [filter]);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const type = (typed: string): void => {
    setText(typed);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      latest.current.apply(typed);
      own.current = latest.current.filter();
    }, options.waitMs);
  };
  return [text, type];
}
