/** The runs of a batch, found in its text. */
import t from "tap";
import { RUN_BATCH_RUNS_MAX } from "#protocol/limits";
import { digestOf, runsIn, sharedText, sliceBatch, textOfRun } from "#protocol/wire/batch-slices";
import { sliceBody } from "#protocol/wire/sliced-body";

function sliced(text: string) {
  const found = sliceBatch(sharedText(text));
  if (!found.ok) throw new Error(found.detail);
  return found.batch;
}

t.test("each run is found as it was sent, and the rest of the body apart", async (t) => {
  const batch = sliced('{"partial":true, "runs" : [ {"name":"ü]}"} , 7,{"a":[1,{"b":2}]}\n],"defaults":{"runs":[1]}}');
  t.equal(runsIn(batch), 3);
  t.same(
    [0, 1, 2].map((index) => textOfRun(batch, index)),
    ['{"name":"ü]}"}', "7", '{"a":[1,{"b":2}]}'],
  );
  t.same(JSON.parse(batch.head), { partial: true, runs: [], defaults: { runs: [1] } });
});

t.test("a text without a list of runs, and one with too many, is refused with the reason", async (t) => {
  const refused = (text: string | Uint8Array) => {
    const shared = typeof text === "string" ? sharedText(text) : new SharedArrayBuffer(text.length);
    if (typeof text !== "string") new Uint8Array(shared).set(text);
    return sliceBatch(shared);
  };
  t.match(refused("{"), { ok: false, code: "bad_json" });
  t.match(refused('{"runs":[1 2]}'), { ok: false, code: "bad_json" });
  t.match(refused(new Uint8Array([0x22, 0xff, 0x22])), { ok: false, code: "bad_json", detail: "it is not UTF-8" });
  t.match(refused('{"runs":{}}'), { ok: false, code: "invalid", detail: "runs: expected array" });
  t.match(refused('{"runs":[]}'), { ok: false, code: "invalid", detail: "runs: expected at least 1 items" });
  const many = (count: number) => refused(`{"runs":[${Array(count).fill("{}").join(",")}]}`);
  t.match(many(RUN_BATCH_RUNS_MAX), { ok: true });
  t.match(many(RUN_BATCH_RUNS_MAX + 1), { ok: false, detail: "runs: expected at most 10000 items, got 10001" });
});

t.test("a reader thread returns the digest of the text, which differs from that of any other text", async (t) => {
  const text = '{"runs":[{}]}';
  const body = sliceBody("CreateRuns", sharedText(text));
  t.match(body, { ok: true, digest: digestOf(sharedText(text)) });
  t.not(digestOf(sharedText(text)), digestOf(sharedText(`${text} `)));
  t.throws(() => sliceBody("CreateRun", sharedText(text)), /are not sliced/);
});
