/** Trees of recently used templates, because a rule fires with the same templates each time. Bounded by memory. */
import { parseTemplate, type TemplateNode, type TemplateTree } from "./parse.ts";

/** Nodes of all trees kept by one thread: about 25 MB, or twenty templates of the largest size. */
export const NODES_MAX = 100_000;

export class TreeCache {
  readonly #trees = new Map<string, TemplateTree>();
  #nodes = 0;

  /** Number of nodes in the kept trees. */
  get nodes(): number {
    return this.#nodes;
  }

  treeOf(text: string): TemplateNode {
    const tree = this.#trees.get(text) ?? parseTemplate(text);
    if (this.#trees.delete(text)) this.#nodes -= tree.nodes;
    // Move the tree to the end: the first tree is the least recently used.
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
