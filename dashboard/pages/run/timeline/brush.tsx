/** The brush over the time of a run: drag across it, or move its two ends with the arrow keys, to zoom into a part. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { clockTime } from "../../../format/time.ts";
import { density } from "./axis.ts";
import { chooseSpan, type Span } from "./span.ts";

/** Resolution of the activity picture. */
const PARTS = 160;
/** A key moves an end by this share of the whole. */
const KEY_SHARE = 0.02;

interface BrushProps {
  whole: Span;
  part: Span | null;
  bars: readonly (readonly [fromUs: number, toUs: number])[];
}

export function Brush({ whole, part, bars }: BrushProps): JSX.Element {
  const strip = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<Span | null>(null);
  const shown = drag ?? part ?? whole;
  const all = whole.toUs - whole.fromUs;
  const place = (us: number) => ((us - whole.fromUs) / all) * 100;
  const timeAt = (event: PointerEvent): number => {
    const box = strip.current?.getBoundingClientRect();
    const share = box === undefined ? 0 : (event.clientX - box.left) / box.width;
    return whole.fromUs + Math.max(0, Math.min(1, share)) * all;
  };
  const begin = (event: PointerEvent) => {
    if (event.button !== 0) return;
    strip.current?.setPointerCapture(event.pointerId);
    setDrag({ fromUs: timeAt(event), toUs: timeAt(event) });
  };
  const move = (event: PointerEvent) => drag !== null && setDrag({ ...drag, toUs: timeAt(event) });
  const end = (event: PointerEvent) => {
    if (drag === null) return;
    chooseSpan({ ...drag, toUs: timeAt(event) }, whole);
    setDrag(null);
  };
  const left = place(Math.min(shown.fromUs, shown.toUs));
  const right = place(Math.max(shown.fromUs, shown.toUs));
  return (
    <div
      class="brush"
      ref={strip}
      onPointerDown={begin}
      onPointerMove={move}
      onPointerUp={end}
      onPointerCancel={() => setDrag(null)}
    >
      <Level bars={bars} whole={whole} />
      <span class="brush-off" style={{ left: 0, width: `${left}%` }} />
      <span class="brush-off" style={{ left: `${right}%`, right: 0 }} />
      <End name="From" us={shown.fromUs} at={left} whole={whole} set={(us) => chooseSpan({ ...shown, fromUs: us }, whole)} />
      <End name="To" us={shown.toUs} at={right} whole={whole} set={(us) => chooseSpan({ ...shown, toUs: us }, whole)} />
    </div>
  );
}

/** The activity over time. */
function Level({ bars, whole }: Pick<BrushProps, "bars" | "whole">): JSX.Element {
  const path = density(bars, whole, PARTS)
    .map((level, index) => `V${(1 - level) * 10}H${index + 1}`)
    .join("");
  return (
    <svg viewBox={`0 -1 ${PARTS} 11`} preserveAspectRatio="none" aria-hidden="true">
      <path d={`M0 10${path}V10z`} />
    </svg>
  );
}

interface EndProps {
  name: string;
  us: number;
  /** Per cent of the width. */
  at: number;
  whole: Span;
  set: (us: number) => void;
}

function End({ name, us, at, whole, set }: EndProps): JSX.Element {
  const all = whole.toUs - whole.fromUs;
  const pressed = (event: KeyboardEvent) => {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    const to = { Home: whole.fromUs, End: whole.toUs }[event.key];
    if (steps === undefined && to === undefined) return;
    event.preventDefault();
    set(to ?? us + (steps ?? 0) * all * KEY_SHARE);
  };
  return (
    <span
      class="brush-end"
      role="slider"
      tabIndex={0}
      aria-label={`${name}, of the time that is shown`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(at)}
      aria-valuetext={clockTime(us)}
      style={{ left: `${at}%` }}
      onKeyDown={pressed}
    />
  );
}
