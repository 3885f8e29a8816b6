/** A field of several words: each is a token that can be removed. Enter and the comma add the typed word. */
import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { Glyph } from "../state/glyph.tsx";

export interface TokenFieldProps {
  /** Label of the field for screen readers. */
  label: string;
  tokens: readonly string[];
  change: (tokens: string[]) => void;
  /** Suggestions while the user types. */
  known?: readonly string[];
  placeholder?: string;
  wrong?: boolean;
}

export function TokenField({ label, tokens, change, known = [], placeholder, wrong = false }: TokenFieldProps): JSX.Element {
  const [text, setText] = useState("");
  const list = useId();
  const add = (typed: string) => {
    const words = typed.split(",").map((word) => word.trim());
    const fresh = [...new Set(words)].filter((word) => word !== "" && !tokens.includes(word));
    setText("");
    if (fresh.length > 0) change([...tokens, ...fresh]);
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Backspace" && text === "" && tokens.length > 0) change(tokens.slice(0, -1));
    if ((event.key !== "Enter" && event.key !== ",") || text.trim() === "") return;
    event.preventDefault();
    add(text);
  };
  return (
    <div class={`field tokens ${wrong ? "wrong" : ""}`}>
      {tokens.map((token) => (
        <span class="token" key={token} title={token}>
          <span class="cut">{token}</span>
          <button type="button" onClick={() => change(tokens.filter((each) => each !== token))}>
            <Glyph name="close" size={10} />
            <span class="sr">Take away {token}</span>
          </button>
        </span>
      ))}
      <input
        type="text"
        aria-label={label}
        aria-invalid={wrong}
        list={known.length > 0 ? list : undefined}
        placeholder={tokens.length === 0 ? placeholder : undefined}
        value={text}
        onInput={(event) => {
          const typed = event.currentTarget.value;
          // A word chosen from the list is complete.
          if (event.inputType === "insertReplacementText" || event.inputType === undefined) add(typed);
          else setText(typed);
        }}
        onKeyDown={keys}
        onBlur={() => add(text)}
      />
      {known.length > 0 && (
        <datalist id={list}>
          {known
            .filter((word) => !tokens.includes(word))
            .map((word) => (
              <option key={word} value={word} />
            ))}
        </datalist>
      )}
    </div>
  );
}
