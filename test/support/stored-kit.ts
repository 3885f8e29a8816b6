/** The dispatch group on a store in memory: what it no longer holds, it reads from there. */
import { readerOf } from "#actors/dispatch-group/load";
import { durableReads } from "#storage/load/load-durable";
import { IN_MEMORY } from "#storage/read/read-handle";
import { DispatchKit, type KitOptions } from "./dispatch-kit.ts";
import { openStore, request, type Store } from "./storage-rows.ts";

export const COMMIT_US = 100;

/** @param settings by default, parked runs leave memory at once */
export function storedKit(options: KitOptions = {}): { kit: DispatchKit; store: Store } {
  // A commit takes a tenth of a millisecond.
  const store = openStore(IN_MEMORY, () => kit.nowUs + COMMIT_US);
  const { writer, statements } = store;
  let batches = 0;
  const settings = { parkedWaitsMax: 0, ...options.settings };
  const kit: DispatchKit = new DispatchKit({
    ...options,
    settings,
    store: {
      reader: (flowOf) => readerOf(flowOf, statements, durableReads(statements)),
      commit: (decision) => {
        batches += 1;
        writer.commit(request(writer, batches, decision));
      },
    },
  });
  return { kit, store };
}
