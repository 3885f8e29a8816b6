/** What the engine logs about a run that the server no longer wants from it. */
import t from "tap";
import type { WorkItem } from "#protocol/records/engine";
import type { RunWatcher } from "#sdk/engine/run-channel";
import { RunControl } from "#sdk/engine/run-control";
import type { CodeKeeper } from "#sdk/engine/user-thread-api";

t.test("the engine logs once, with the run's id, why it drops a run that the server took from it", async (t) => {
  const complaints: string[] = [];
  const stopped: number[] = [];
  const watchers: RunWatcher[] = [];
  const channel = {
    hold: (_: WorkItem, watcher: RunWatcher) => {
      watchers.push(watcher);
      return { report: async () => ({ kind: "gone" as const, reason: "404" }), check: () => undefined, close: () => undefined };
    },
  };
  const keeper = {
    find: () => undefined,
    gauges: { addWaiting: () => 0 },
    thread: { stop: (run: number) => stopped.push(run) },
  } as unknown as CodeKeeper;
  const item = { run_id: 7, external_id: "00000000-0000-4000-8000-000000000007", project: "p", flow: "f", parameters: {} };
  new RunControl(channel, keeper, item as unknown as WorkItem, {
    graceMs: 0,
    lostMs: 1_000,
    complain: (text) => complaints.push(text),
  });
  watchers[0]?.gone("another engine has the run");
  watchers[0]?.gone("and once more");
  watchers[0]?.lost();
  t.same(complaints, ["run 7: another engine has the run"]);
  t.same(stopped, [7]);
});
