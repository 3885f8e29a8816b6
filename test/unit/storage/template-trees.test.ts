/** The cache of template trees: bounded by nodes, evicts the least recently used. */
import t from "tap";
import { TEMPLATE_LENGTH_MAX } from "#storage/templates/parse";
import { NODES_MAX, TreeCache } from "#storage/templates/tree-cache";

t.test("trees of many large templates are kept up to the bound, small ones by the thousand", async (t) => {
  const cache = new TreeCache();
  const opening = "{{ a }}";
  for (let index = 0; index < 100; index += 1) {
    cache.treeOf(opening.repeat(TEMPLATE_LENGTH_MAX / opening.length - 10) + index);
    t.ok(cache.nodes <= NODES_MAX, `${cache.nodes} nodes after ${index + 1} templates`);
  }
  t.ok(cache.nodes > NODES_MAX / 2, "the bound is used");
  const first = cache.treeOf("{{ b }} 0");
  for (let index = 1; index < 1_000; index += 1) cache.treeOf(`{{ b }} ${index}`);
  t.equal(cache.treeOf("{{ b }} 0"), first, "a thousand small ones stay beside the large ones that were used last");
});
