/** The messages between the page and the layout worker. */

export interface LayoutRequest {
  boxes: readonly string[];
  edges: readonly (readonly [from: string, to: string])[];
}

export interface Point {
  x: number;
  y: number;
}

export interface Layout {
  width: number;
  height: number;
  /** The upper left corner of each box. */
  places: Readonly<Record<string, Point>>;
  lines: readonly { key: string; points: readonly Point[] }[];
}

export const BOX = { width: 208, height: 30 } as const;
