/**
 * Glyphs of states, drawn once per page as symbols and used by name. An outline waits, a ring with a dot or a loop is active, a
 * disc succeeded, a square failed, a diamond needs a person, a bare or slashed glyph was skipped.
 */
import type { ComponentChildren, JSX } from "preact";

const LINE = {
  fill: "none",
  stroke: "currentColor",
  "stroke-width": 1.6,
  "stroke-linecap": "round",
  "stroke-linejoin": "round",
} as const;
/** The strokes cut out of a solid shape. */
const CUT = { ...LINE, stroke: "var(--knock)", "stroke-width": 1.7 } as const;

const ring = <circle cx="8" cy="8" r="5.8" {...LINE} />;
const dotted = <circle cx="8" cy="8" r="5.8" {...LINE} stroke-dasharray="2.1 2.46" />;
const disc = <circle cx="8" cy="8" r="6.6" fill="currentColor" />;
const square = <rect x="1.75" y="1.75" width="12.5" height="12.5" rx="2.2" fill="currentColor" />;
const diamond = (
  <path d="M8 .6 15.4 8 8 15.4.6 8z" fill="currentColor" stroke="currentColor" stroke-linejoin="round" stroke-width=".6" />
);
const loop = [
  <path key="arc" d="M13.3 9.2A5.5 5.5 0 1 1 12 4.2" {...LINE} />,
  <path key="tip" d="M12.9 1.6v3.2H9.7" {...LINE} />,
];

const SHAPES: Readonly<Record<string, ComponentChildren>> = {
  scheduled: [ring, <path key="m" d="M8 4.9V8.2l2.1 1.3" {...LINE} />],
  pending: dotted,
  "awaiting-resource": <path d="M3 2.4v11.2M13 2.4v11.2M3 6.2h10M3 10h10" {...LINE} />,
  "awaiting-retry": loop,
  sleeping: <path d="M12.9 10.2A5.9 5.9 0 1 1 6.6 2.6a4.7 4.7 0 0 0 6.3 7.6z" {...LINE} />,
  "awaiting-event": [ring, <path key="m" d="M8.7 4.2 5.9 8.4h4L7.4 11.9" {...LINE} />],
  "awaiting-child": [
    <circle key="a" cx="8" cy="3.6" r="2.2" {...LINE} />,
    <circle key="b" cx="8" cy="12.4" r="2.2" {...LINE} />,
    <path key="m" d="M8 5.9v4.2" {...LINE} />,
  ],
  resuming: [dotted, <path key="m" d="M6.6 5.3v5.4L10.8 8z" fill="currentColor" />],
  running: [
    <path key="m" d="M8 2.2A5.8 5.8 0 1 1 2.2 8" {...LINE} stroke-width="2" />,
    <circle key="d" cx="8" cy="8" r="2.5" fill="currentColor" />,
  ],
  retrying: [loop, <circle key="d" cx="8" cy="8" r="2.1" fill="currentColor" />],
  cancelling: [dotted, <path key="m" d="M5 11l6-6" {...LINE} />],
  completed: [disc, <path key="m" d="M5 8.3l2.1 2.1L11 6.2" {...CUT} />],
  cached: [disc, <path key="m" d="M5.2 6.5h5.6M5.2 9.5h5.6" {...CUT} />],
  skipped: <path d="M3.4 3.8 7.4 8l-4 4.2M8.6 3.8l4 4.2-4 4.2" {...LINE} />,
  cancelled: [ring, <path key="m" d="M4 12 12 4" {...LINE} />],
  late: [diamond, <path key="m" d="M8 4.6V8.4l2.2 1.4" {...CUT} />],
  paused: [diamond, <path key="m" d="M6.3 5.7v4.6M9.7 5.7v4.6" {...CUT} />],
  failed: [square, <path key="m" d="M5.4 5.4l5.2 5.2M10.6 5.4l-5.2 5.2" {...CUT} />],
  "timed-out": [square, <path key="m" d="M8 4.4V8.3l2.5 1.8" {...CUT} />],
  crashed: [square, <path key="m" d="M9.6 1.4 6.2 7.2l3.6 1.4-3.4 6" {...CUT} />],
  unknown: ring,
  // Glyphs that are not states, in the same style.
  lapsed: [diamond, <path key="m" d="M8 4.4v4.2M8 11.3v.1" {...CUT} />],
  full: [diamond, <path key="m" d="M5 9.4h6M6 6.7h4" {...CUT} />],
  "flow-error": [square, <path key="m" d="M8 4.6v4M8 11.2v.1" {...CUT} />],
  projected: <circle cx="8" cy="8" r="4.6" {...LINE} stroke-width="1.5" stroke-dasharray="1.4 1.5" />,
  "skipped-fire": [
    <circle key="c" cx="8" cy="8" r="4.6" {...LINE} stroke-width="1.4" />,
    <path key="m" d="M2 14 14 2" {...LINE} />,
  ],
  // Controls.
  close: <path d="M4 4l8 8M12 4l-8 8" {...LINE} />,
  check: <path d="M3.5 8.3l3 3L12.5 5" {...LINE} stroke-width="2.2" />,
  search: [<circle key="c" cx="7" cy="7" r="4.2" {...LINE} />, <path key="m" d="M10.2 10.2 13.5 13.5" {...LINE} />],
  menu: <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" {...LINE} />,
  down: <path d="M4 6l4 4 4-4" {...LINE} />,
  up: <path d="M8 13V3M4 7l4-4 4 4" {...LINE} />,
  right: <path d="M6 4l4 4-4 4" {...LINE} />,
  left: <path d="M10 4 6 8l4 4" {...LINE} />,
  theme: [
    <circle key="c" cx="8" cy="8" r="5.6" {...LINE} />,
    <path key="m" d="M8 2.4a5.6 5.6 0 0 1 0 11.2z" fill="currentColor" />,
  ],
  rerun: loop,
  lock: [
    <rect key="b" x="3.5" y="7" width="9" height="6.5" rx="1" {...LINE} />,
    <path key="m" d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2" {...LINE} />,
  ],
};

/** All symbols; once per document. */
export function Sprite(): JSX.Element {
  return (
    <svg class="sprite" aria-hidden="true">
      {Object.entries(SHAPES).map(([name, shape]) => (
        <symbol key={name} id={`glyph-${name}`} viewBox="0 0 16 16">
          {shape}
        </symbol>
      ))}
    </svg>
  );
}

/** A glyph by name: always beside a word with the same meaning. */
export function Glyph({ name, size = 14 }: { name: string; size?: number }): JSX.Element {
  return (
    <svg class="glyph" width={size} height={size} aria-hidden="true">
      <use href={`#glyph-${name}`} />
    </svg>
  );
}
