import t from "tap";
import { GatewayState } from "#gateway/gateway-state";
import type { Reads } from "#gateway/reads/reads";
import { BodyBudget } from "#gateway/request/body-budget";
import { LocalEndpoint } from "#gateway/request/endpoint";
import { Readiness } from "#gateway/request/readiness";
import type { Command, CommandNotice } from "#protocol/wire/command";
import { type Committed, STREAM_CODE } from "#protocol/wire/feed";
import { messageRows } from "../../support/message-rows.ts";
import { RecordedExchange } from "../../support/recorded-exchange.ts";

const OPTIONS = {
  host: "127.0.0.1",
  port: 0,
  socket: null,
  token: null,
  allowed_hosts: [],
  mcp_read_only: false,
  home: "/home/someone",
  served_dir: null,
  version: "1.13.0",
  store: "",
  dashboard: null,
  transport: null,
  connections_max: Number.POSITIVE_INFINITY,
};

/** The state of a gateway with a store whose event 2 cannot be read. */
function setup() {
  const sent: (Command | CommandNotice)[] = [];
  const defects: unknown[] = [];
  const read: number[] = [];
  const ports = {
    send: (_actor: string, message: Command | CommandNotice) => void sent.push(message),
    sendRoute: () => undefined,
    read: (seq: number) => void read.push(seq),
    now: () => 0,
    newId: () => "id",
    failed: (cause: unknown) => void defects.push(cause),
    defect: (cause: unknown) => void defects.push(cause),
    warn: (text: string) => void defects.push(text),
    held: () => undefined,
    scraped: () => undefined,
  };
  const renderRow = (_kind: string, id: number | string) => {
    if (id === 2) throw new Error("the row is broken");
    return `{"id":${id}}`;
  };
  const reads = {
    endpoint: () => new LocalEndpoint(true, () => undefined),
    renderRow,
    messageRows: () => messageRows({ render: renderRow }),
  } as unknown as Reads;
  const next = () => new GatewayState(OPTIONS, ports, reads, new BodyBudget(), new Readiness());
  const post = (state: GatewayState, path: string) => {
    const exchange = new RecordedExchange({ method: "POST", path });
    const match = state.router.match(path);
    match?.methods.get("POST")?.serve(exchange, match.values);
    return exchange;
  };
  return { sent, defects, read, next, post };
}

t.test(
  "of the message at which it failed each answer is given by itself; one that cannot be given costs its connection",
  async (t) => {
    const { sent, defects, read, next, post } = setup();
    const former = next();
    former.receive({ kind: "Reloaded", epoch: 3 });
    const exchanges = [1, 2, 3, 4].map((id) => post(former, `/api/runs/${id}/cancel`));
    const ids = sent.map((message) => (message as Command).id);
    const commit: Committed = {
      kind: "Committed",
      replies: [ids[0] ?? 0, 200, "{}", ids[1] ?? 0, 201, 2, ids[2] ?? 0, 200, "{}"],
      stream: [STREAM_CODE["event.created"], 0, STREAM_CODE["event.created"], ids[3] ?? 0],
      runs: [],
      first_seq: 5,
      first_event_id: 1,
      logs: [],
      acknowledge: 6,
    };
    t.throws(() => former.receive(commit), /broken/);
    const state = next();
    state.takeOver(former);
    state.recover(commit);
    t.same(
      exchanges.map(({ status, wasCut }) => [status, wasCut]),
      [
        [200, false],
        [0, true],
        [200, false],
        [0, true],
      ],
    );
    t.equal(defects.length, 2);
    t.same(read, [6], "the writer learns that its messages are no longer in flight");
    t.equal(sent.length, 4, "nothing is sent again");
    post(state, "/api/runs/5/cancel");
    t.match(sent.at(-1), { id: (ids[3] ?? 0) + 1, epoch: 3 });
    await former.stop(0);
    await state.stop(0);
  },
);

t.test("an announcement at which it failed is heard once more", async (t) => {
  const { sent, next, post } = setup();
  const former = next();
  post(former, "/api/runs/1/cancel");
  t.equal(sent.length, 0);
  const state = next();
  state.takeOver(former);
  state.recover({ kind: "Reloaded", epoch: 2 });
  t.match(sent, [{ epoch: 2, kind: "CancelRun" }]);
  await former.stop(0);
  await state.stop(0);
});

t.test("what is still brought to a failed one goes to the one that follows", async (t) => {
  const { sent, next, post } = setup();
  const former = next();
  const state = next();
  const last = next();
  state.takeOver(former);
  last.takeOver(state);
  last.receive({ kind: "Reloaded", epoch: 2 });
  const exchange = post(former, "/api/runs/1/cancel");
  t.match(sent, [{ epoch: 2, kind: "CancelRun" }]);
  last.receive({
    kind: "Committed",
    replies: [(sent[0] as Command).id, 200, "{}"],
    stream: [],
    runs: [],
    first_seq: 0,
    first_event_id: 0,
    logs: [],
  });
  t.equal(exchange.status, 200);
  await last.stop(0);
});
