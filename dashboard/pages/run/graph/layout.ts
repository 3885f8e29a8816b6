/** The positions of the boxes and lines of a graph. Pure; runs in the worker. */
import { layout as dagre, Graph } from "@dagrejs/dagre";
import { BOX, type Layout, type LayoutRequest, type Point } from "./layout-shapes.ts";

const GAP = { x: 12, y: 10, rank: 56 } as const;
/** Columns for boxes without connections. */
const LOOSE_COLUMNS = 4;

export function layOut({ boxes, edges }: LayoutRequest): Layout {
  const connected = new Set(edges.flat());
  const laid = layOutConnected(
    boxes.filter((id) => connected.has(id)),
    edges,
  );
  const loose = boxes.filter((id) => !connected.has(id));
  const top = laid.height === 0 ? 0 : laid.height + GAP.rank;
  const places = { ...laid.places };
  for (const [index, id] of loose.entries())
    places[id] = {
      x: (index % LOOSE_COLUMNS) * (BOX.width + GAP.x),
      y: top + Math.floor(index / LOOSE_COLUMNS) * (BOX.height + GAP.y),
    };
  const columns = Math.min(LOOSE_COLUMNS, loose.length);
  const rows = Math.ceil(loose.length / LOOSE_COLUMNS);
  return {
    width: Math.max(laid.width, columns * (BOX.width + GAP.x) - (columns > 0 ? GAP.x : 0)),
    height: loose.length === 0 ? laid.height : top + rows * (BOX.height + GAP.y) - GAP.y,
    places,
    lines: laid.lines,
  };
}

function layOutConnected(boxes: readonly string[], edges: LayoutRequest["edges"]): Layout {
  if (boxes.length === 0) return { width: 0, height: 0, places: {}, lines: [] };
  const graph = new Graph();
  graph.setGraph({ rankdir: "LR", nodesep: GAP.y, ranksep: GAP.rank, edgesep: GAP.y });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of boxes) graph.setNode(id, { ...BOX });
  for (const [from, to] of edges) graph.setEdge(from, to);
  dagre(graph);
  const places: Record<string, Point> = {};
  let width = 0;
  let height = 0;
  for (const id of boxes) {
    const { x = 0, y = 0 } = graph.node(id);
    // dagre returns the centre.
    places[id] = { x: x - BOX.width / 2, y: y - BOX.height / 2 };
    width = Math.max(width, x + BOX.width / 2);
    height = Math.max(height, y + BOX.height / 2);
  }
  // From the right side of one box to the left side of the other, through the points that avoid the boxes between.
  const lines = edges.map(([from, to]) => {
    const begin = places[from] ?? { x: 0, y: 0 };
    const end = places[to] ?? { x: 0, y: 0 };
    const between = (graph.edge(from, to).points ?? []).slice(1, -1);
    const half = BOX.height / 2;
    const points = [{ x: begin.x + BOX.width, y: begin.y + half }, ...between, { x: end.x, y: end.y + half }];
    return { key: `${from}\n${to}`, points };
  });
  return { width, height, places, lines };
}
