/** Cycles of imports, found as strongly connected components: groups of files that all reach each other. */

/** For each file the files that it imports. */
export type ImportGraph = ReadonlyMap<string, ReadonlySet<string>>;

/** Components of more than one file, largest first; files in order of their names (Tarjan's algorithm). */
export function cyclicComponents(graph: ImportGraph): string[][] {
  const order = new Map<string, number>();
  const open: string[] = [];
  const components: string[][] = [];
  const visit = (file: string): number => {
    const number = order.size;
    let low = number;
    order.set(file, number);
    open.push(file);
    for (const next of graph.get(file) ?? []) {
      // A file without a component is open still: it reaches this file.
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (open.includes(next)) low = Math.min(low, order.get(next) ?? number);
    }
    if (low === number) components.push(open.splice(open.indexOf(file)).sort());
    return low;
  };
  for (const file of [...graph.keys()].sort()) if (!order.has(file)) visit(file);
  return components.filter(({ length }) => length > 1).sort((a, b) => b.length - a.length);
}

/** A shortest cycle through the first file of a component, with that file at both ends. */
export function cycleOf(component: readonly string[], graph: ImportGraph): string[] {
  const [first = ""] = component;
  const cameFrom = new Map<string, string>();
  const waiting = [first];
  for (const file of waiting) {
    for (const next of [...(graph.get(file) ?? [])].sort()) {
      if (next === first) return pathTo(file, cameFrom).concat(first);
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, file);
      waiting.push(next);
    }
  }
  return [];
}

function pathTo(file: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const path: string[] = [];
  for (let at: string | undefined = file; at !== undefined; at = cameFrom.get(at)) path.unshift(at);
  return path;
}
