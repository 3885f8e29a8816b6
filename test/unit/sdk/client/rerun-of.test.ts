import t from "tap";
import { MillraceError } from "#sdk/client/error";
import type { Http } from "#sdk/client/http";
import type { Run } from "#sdk/client/index";
import { rerunOf } from "#sdk/client/wait";

const PAGE = 200;

/** A server with these later runs of the flow; each of its first answers is one of these failures. */
function setUp(later: readonly Partial<Run>[], failures: readonly Error[] = []) {
  const asked: unknown[] = [];
  const left = [...failures];
  const get = async (path: string, query: { cursor: number; limit: number; flow_id: number; sort: string }) => {
    const failure = left.shift();
    if (failure !== undefined) throw failure;
    asked.push([path, query.flow_id, query.sort, query.cursor]);
    return { items: later.filter(({ id = 0 }) => id > query.cursor).slice(0, query.limit) };
  };
  return { http: { get } as unknown as Http, asked };
}

const crashed = (rerun_at: number | undefined): Run =>
  ({
    id: 7,
    flow_id: 3,
    state: { type: "Crashed", name: "Crashed", details: rerun_at === undefined ? {} : { rerun_at } },
  }) as never;

const nowUs = () => Date.now() * 1_000;
const away = new MillraceError("nothing answers", { reason: "unreachable", status: 0 });

t.test("the rerun is found among later runs of the flow, page by page", async (t) => {
  const others = Array.from({ length: PAGE }, (_, n) => ({ id: 8 + n, created_by: n % 2 === 0 ? "client" : "crash:6" }));
  const { http, asked } = setUp([...others, { id: 300, created_by: "crash:7" }]);
  t.equal((await rerunOf(http, crashed(nowUs())))?.id, 300);
  t.same(asked, [
    ["/api/runs", 3, "created_asc", 7],
    ["/api/runs", 3, "created_asc", 7 + PAGE],
  ]);
});

t.test("a run that is not run again has none", async (t) => {
  const { http, asked } = setUp([{ id: 8, created_by: "crash:7" }]);
  t.equal(await rerunOf(http, crashed(undefined)), null);
  t.equal(await rerunOf(http, { ...crashed(1), state: { type: "Completed", name: "Completed" } } as never), null);
  t.same(asked, [], "the server is not asked");
  t.equal(await rerunOf(setUp([]).http, crashed(nowUs() - 60_000_000)), null, "nor has one that should have come long ago");
});

t.test("a server that is away is asked again, for a while", async (t) => {
  const { http } = setUp([{ id: 8, created_by: "crash:7" }], [away]);
  // The time of the rerun passed while the server was away.
  t.equal((await rerunOf(http, crashed(nowUs() - 60_000_000)))?.id, 8);
  await t.rejects(rerunOf(setUp([], [away]).http, crashed(nowUs()), { retryForMs: 0 }), { message: "nothing answers" });
  const refused = new MillraceError("no token", { reason: "refused", status: 401 });
  await t.rejects(rerunOf(setUp([], [refused]).http, crashed(nowUs())), { message: "no token" });
  const signal = AbortSignal.abort(new Error("left"));
  await t.rejects(rerunOf(setUp([]).http, crashed(nowUs()), { signal }), { message: "left" });
});
