/** A state as shown: glyph and word, in its loudness. */
import type { JSX } from "preact";
import type { State } from "#protocol/records/state";
import { Glyph } from "./glyph.tsx";
import { lookOf, type StateLook } from "./look.ts";

type Shown = Pick<State, "type" | "name">;

/** Glyph and word. `big` is for page titles. */
export function StateMark({ state, big = false }: { state: Shown; big?: boolean }): JSX.Element {
  const look = lookOf(state);
  return (
    <span class={`state s-${look.token} ${look.loudness} ${big ? "big" : ""}`}>
      <Glyph name={look.token} size={big ? 16 : 14} />
      <span>{look.word}</span>
    </span>
  );
}

/** The glyph alone, with its word for screen readers: where the word is nearby or there is no room. */
export function StateGlyph({ look, size = 14 }: { look: StateLook; size?: number }): JSX.Element {
  return (
    <span class={`mark s-${look.token}`} title={look.word}>
      <Glyph name={look.token} size={size} />
      <span class="sr">{look.word}</span>
    </span>
  );
}
