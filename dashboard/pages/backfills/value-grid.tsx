/** The values of a backfill as cells. Very many values share cells, and a shared cell has the colour of its worst value. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { BackfillValue } from "#protocol/records/backfill";
import { count } from "../../format/number.ts";
import { Glyph } from "../../state/glyph.tsx";
import { lookOf, STATE_ORDER, type StateLook } from "../../state/look.ts";

const CELLS_MAX = 1_000;

interface ValueCell {
  text: string;
  href: string;
  look: StateLook;
}

function urgency([, , , name]: BackfillValue): number {
  const at = (STATE_ORDER as readonly string[]).indexOf(name);
  return at === -1 ? STATE_ORDER.length : at;
}

function cellsOf(values: readonly BackfillValue[]): ValueCell[] {
  const each = Math.ceil(values.length / CELLS_MAX) || 1;
  return Array.from({ length: Math.ceil(values.length / each) }, (_, index) => {
    const part = values.slice(index * each, (index + 1) * each);
    const [value, run, type, name] = part.reduce((worst, next) => (urgency(next) < urgency(worst) ? next : worst));
    const look = lookOf({ type, name });
    const told =
      part.length === 1 ? `${value ?? "?"}` : `${part[0]?.[0]} to ${part.at(-1)?.[0]}, ${part.length} values, the worst ${value}`;
    return { text: `${told}: ${look.word}`, href: `/runs/${run}`, look };
  });
}

export function ValueGrid({ values }: { values: readonly BackfillValue[] }): JSX.Element {
  const cells = cellsOf(values);
  const [at, setAt] = useState(0);
  const grid = useRef<HTMLUListElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -cells.length, End: cells.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(cells.length - 1, at + step));
    setAt(next);
    grid.current?.querySelectorAll("a")[next]?.focus();
  };
  if (cells.length === 0) return <p class="calm dim">It has no runs any more.</p>;
  return (
    <>
      <ul class="value-grid" ref={grid} onKeyDown={move}>
        {cells.map(({ text, href, look }, index) => (
          <li key={href} class={`s-${look.token}`}>
            <a
              href={href}
              title={text}
              tabIndex={index === at ? 0 : -1}
              onFocus={() => setAt(index)}
              onMouseEnter={() => setAt(index)}
            >
              <Glyph name={look.token} size={16} />
              <span class="sr">{text}</span>
            </a>
          </li>
        ))}
      </ul>
      <p class="hint">
        {cells[at]?.text ?? ""}
        {cells.length < values.length && `. ${count(values.length)} values in ${count(cells.length)} cells`}
      </p>
    </>
  );
}
