/** What the server reports about reloaded code. */
import t from "tap";
import { DispatchKit } from "../../../support/dispatch-kit.ts";
import { SOURCE_DIR } from "../../../support/dispatch-steps.ts";

t.test("Settings has the last reload, and who looks at one of its flows is told", async (t) => {
  const kit = new DispatchKit();
  const flow = { project: "p", flow: "f", module: "f.ts", source_dir: SOURCE_DIR, options: {} };
  kit.register([flow]);
  t.equal(kit.send("GetSettings").reply?.body["code_reloaded"], null);
  const registered = kit.state.flowByName("p", "f");
  const { stream, ops } = kit.reload("word.ts", [{ project: "p", flow: "f" }]);
  t.same(stream, [{ kind: "flow.registered", id: registered?.id }]);
  t.same(ops, [], "what is stored stays");
  t.same(kit.send("GetSettings").reply?.body["code_reloaded"], { at: kit.nowUs, files: 1, names: ["word.ts"], flows: 1 });
});
