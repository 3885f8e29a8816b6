/** What a server waits for when it opens its store. */
import t from "tap";
import { openWaiting } from "#server/threads/open-waiting";
import { StorageError } from "#storage/sqlite/storage-error";

/** Fails so often before it opens. */
function openingAfter(failures: number, error: Error): () => Promise<string> {
  let left = failures;
  return async () => {
    left -= 1;
    if (left >= 0) throw error;
    return "opened";
  };
}

t.test("a database that comes up within the time", async (t) => {
  const warnings: string[] = [];
  const open = openingAfter(2, new StorageError("unreachable", "no connection"));
  t.equal(await openWaiting(open, 60, (text) => warnings.push(text)), "opened");
  t.same(warnings, ["waiting for the store: no connection"], "said once");
});

t.test("without time to wait, and for an error that does not pass, the first error is the answer", async (t) => {
  const lost = new StorageError("unreachable", "no connection");
  await t.rejects(openWaiting(openingAfter(1, lost), 0, t.fail), lost);
  const newer = new StorageError("newer", "a newer schema");
  await t.rejects(openWaiting(openingAfter(1, newer), 60, t.fail), newer);
});
