/** The doctor's findings: none in a store that the writer created, and each broken promise in a damaged store. */
import { join } from "node:path";
import t from "tap";
import type { Primitive } from "#protocol/wire/feed";
import { SecretBox } from "#storage/home/secret-box";
import { checkFile, checkStore, INVARIANTS } from "#storage/invariants/check-store";
import type { Finding, InvariantFacts } from "#storage/invariants/invariant";
import { putOperation } from "#storage/write/ops";
import { keyFile } from "../../support/key-file.ts";
import { DAMAGES, givenEvent, SECRET, soundStore } from "../../support/sound-store.ts";
import { request, type Store } from "../../support/storage-rows.ts";

function findingsIn({ database }: Store, facts: InvariantFacts): (Finding & { id: string })[] {
  return checkStore(database, facts).flatMap(({ id, findings }) => findings.map((finding) => ({ ...finding, id })));
}

const NO_TOTALS: InvariantFacts = { totals: null, open: () => null };

t.test("a store that the writer made is sound", async (t) => {
  const box = new SecretBox(keyFile(join(t.testdir(), "secret.key")));
  const store = soundStore(box);
  t.same(findingsIn(store, { totals: { gpu: 1 }, open: (sealed) => box.open(sealed) }), []);
  t.same(checkFile(store.database), []);
  t.same(
    INVARIANTS.map(({ id }) => id),
    Array.from({ length: 14 }, (_, index) => `I${index + 1}`),
  );
  const unchecked = checkStore(store.database, NO_TOTALS).filter(({ checked }) => !checked);
  t.match(unchecked, [{ id: "I7", unchecked: /only a reader/ }]);
});

t.test("a run that a person forces ahead of its skipped fire breaks nothing", async (t) => {
  const store = soundStore(new SecretBox(keyFile(join(t.testdir(), "secret.key"))));
  store.database.exec("UPDATE skips SET fire = 5");
  t.same(
    findingsIn(store, NO_TOTALS).filter(({ id }) => id === "I5"),
    [],
  );
});

t.test("runs from before their course was recorded break nothing, whether they have moved since or not", async (t) => {
  const store = soundStore(new SecretBox(keyFile(join(t.testdir(), "secret.key"))));
  store.database.exec("UPDATE runs SET marks = NULL WHERE id = 1; UPDATE runs SET marks = '' WHERE id = 2");
  t.same(
    findingsIn(store, NO_TOTALS).filter(({ id }) => id === "I14"),
    [],
  );
});

for (const [id, sql, text, level = "broken"] of DAMAGES) {
  t.test(`${id}: ${sql}`, async (t) => {
    const store = soundStore(new SecretBox(keyFile(join(t.testdir(), "secret.key"))));
    store.database.exec(sql);
    const found = findingsIn(store, NO_TOTALS).filter((finding) => finding.id === id && text.test(finding.text));
    t.match(found, [{ level }]);
  });
}

t.test("a fan-in that happened twice for a value, and one whose first run was deleted", async (t) => {
  const store = soundStore(new SecretBox(keyFile(join(t.testdir(), "secret.key"))));
  const ops: Primitive[] = [];
  const payload = '{"key":"day","value":"d"}';
  for (const run of [1, 2]) putOperation(ops, "insert_event", givenEvent("flow.fan_in", 1, run, payload));
  store.writer.commit(request(store.writer, 2, { ops }));
  const told = () => findingsIn(store, NO_TOTALS).filter(({ id }) => id === "I9");
  t.match(told(), [{ level: "unusual", text: 'flow 1 was run 2 times for the value "d"' }]);
  store.database.exec("DELETE FROM runs WHERE id = 1");
  t.same(told(), []);
});

t.test("what a running server says of totals counts", async (t) => {
  const store = soundStore(new SecretBox(keyFile(join(t.testdir(), "secret.key"))));
  const told = (totals: Record<string, number>) => findingsIn(store, { ...NO_TOTALS, totals }).filter(({ id }) => id === "I4");
  t.same(told({ gpu: 2 }), []);
  t.match(told({ gpu: 0 }), [{ level: "unusual", text: /^1 of gpu are in use, there are 0/ }]);
  t.same(told({}), [], "nothing is declared: there is one of it");
});

t.test("a secret that stands in clear somewhere", async (t) => {
  const box = new SecretBox(keyFile(join(t.testdir(), "secret.key")));
  const facts: InvariantFacts = { totals: null, open: (sealed) => box.open(sealed) };
  const told = (store: Store) => findingsIn(store, facts).filter(({ id }) => id === "I12");
  const inPayload = soundStore(box);
  inPayload.database.exec(`UPDATE events SET payload = '{"url":"https://x/${SECRET}"}' WHERE id = 1`);
  t.match(told(inPayload), [{ level: "broken", text: "the value of password stands in clear in 1 rows of events.payload" }]);
  const inLogs = soundStore(box);
  const lines = JSON.stringify([[null, 20, "l", 3, `using ${SECRET}`]]);
  inLogs.writer.commit(request(inLogs.writer, 2, { logs: [1, 0, 1, 4, lines] }));
  t.match(told(inLogs), [{ level: "broken", text: "the value of password stands in clear in 1 log lines" }]);
  t.match(findingsIn(soundStore(box), NO_TOTALS), [{ id: "I12", level: "unusual", text: /password cannot be decrypted/ }]);
});

t.test("many findings of one kind are counted", async (t) => {
  const store = soundStore(new SecretBox(keyFile(join(t.testdir(), "secret.key"))));
  for (let id = 10; id < 20; id += 1) store.database.exec(`INSERT INTO leases VALUES (${id}, 77, 'run', '{}', 1)`);
  store.database.exec("UPDATE counters SET value = 99 WHERE name = 'leases'");
  const told = findingsIn(store, NO_TOTALS).filter(({ id }) => id === "I1");
  t.equal(told.length, 6);
  t.equal(told.at(-1)?.text, "and 5 more of this kind");
});
