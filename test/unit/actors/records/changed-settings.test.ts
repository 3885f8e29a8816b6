import t from "tap";
import { changesIn, changesOf, hiddenValues, withChanges } from "#actors/core/state/changed-settings";
import { operations } from "../../../support/decision-record.ts";
import { DispatchKit, SETTINGS } from "../../../support/dispatch-kit.ts";

t.test("a store that outlives the machine gets changed settings as rows, in the decision that applies them", async (t) => {
  const kit = new DispatchKit({ facts: { writeSettings: null, changedSettings: new Set() } });
  const patched = kit.send("PatchSettings", { body: { retain_days: 7, resources: { gpu: 2 }, crash_retries: null } });
  t.match(patched.reply, { status: 200, body: { retain_days: 7, changed_settings: ["resources.gpu", "retain_days"] } });
  t.same(operations(patched, "put_setting"), [
    { op: "put_setting", name: "retain_days", value: "7" },
    { op: "put_setting", name: "resources.gpu", value: "2" },
  ]);
});

t.test("where a file keeps the changes, nothing is stored, and a file that cannot be written changes nothing", async (t) => {
  const written: unknown[] = [];
  const kit = new DispatchKit({ facts: { writeSettings: (changes) => void written.push(changes) } });
  const patched = kit.send("PatchSettings", { body: { retain_days: 7, resources: { gpu: 2 } } });
  t.match(patched.reply, { status: 200, body: { retain_days: 7, changed_settings: [] } });
  t.same(operations(patched, "put_setting"), []);
  t.same(written, [{ defaults: { retain_days: 7 }, resources: { gpu: 2 } }]);
  const failing = new DispatchKit({
    facts: {
      writeSettings: () => {
        throw new Error("the disk is full");
      },
    },
  });
  t.match(failing.send("PatchSettings", { body: { retain_days: 7 } }).reply?.status, 500);
  t.match(failing.send("GetSettings").reply, { body: { retain_days: SETTINGS.retainDays } });
});

t.test("rows apply over the configured settings, which stay as they are", async (t) => {
  const configured = { ...SETTINGS, retainDays: 90, resourceTotals: new Map([["gpu", 4]]) };
  const rows = [...changesOf({ retain_days: 7, crash_retries: 5, resources: { gpu: 2.5, desk: 1 } })];
  const stored = [...rows.map(([name, value]) => ({ name, value: String(value) })), { name: "event_salt", value: "17" }];
  const changes = changesIn(stored);
  t.same([...changes], rows, "other rows of the table are none");
  const settings = withChanges(configured, changes);
  t.match(settings, { retainDays: 7, crashRetriesDefault: 5 });
  t.same(Object.fromEntries(settings.resourceTotals), { gpu: 2.5, desk: 1 });
  t.same(Object.fromEntries(configured.resourceTotals), { gpu: 4 });
  t.same(
    hiddenValues(configured, changes).map((line) => line.split(":")[0]),
    ["retain_days is 7", "resources.gpu is 2.5", "resources.desk is 1"],
    "the number of retries is the configured one",
  );
});
