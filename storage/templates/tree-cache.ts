/** Trees of templates that were used last, because a rule fires with the same ones. Bounded by what they take in memory. */
import { parseTemplate, type TemplateNode, type TemplateTree } from "./parse.ts";

/** Nodes of all trees kept by one thread: some 25 MB, or twenty templates of the largest size. */
export const NODES_MAX = 100_000;

export class TreeCache {
  readonly #trees = new Map<string, TemplateTree>();
  #nodes = 0;

  /** Nodes of the trees kept. */
  get nodes(): number {
    return this.#nodes;
  }

  treeOf(text: string): TemplateNode {
    const tree = this.#trees.get(text) ?? parseTemplate(text);
    if (this.#trees.delete(text)) this.#nodes -= tree.nodes;
    // Put last: the first is the one that was used longest ago.
    this.#trees.set(text, tree);
    this.#nodes += tree.nodes;
    for (const [oldest, { nodes }] of this.#trees) {
      if (this.#nodes <= NODES_MAX) break;
      this.#trees.delete(oldest);
      this.#nodes -= nodes;
    }
    return tree.root;
  }
}
