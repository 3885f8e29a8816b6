/** What a durable run waits for and has waited for: sleeps, events, callbacks, questions and the runs that it called. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Wait, WaitKind } from "#protocol/records/durable";
import { useQuery } from "../../api/query.ts";
import { fullTime, shortTime } from "../../format/time.ts";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { type Column, Table, TIME_WIDTH } from "../../parts/table/table.tsx";
import type { TabProps } from "./run-page.tsx";

/** Waits of one page, newest last; a flow with more shows the first ones. */
const SHOWN = 500;

const WORDS: Readonly<Record<WaitKind, string>> = {
  sleep: "Sleep",
  event: "Event",
  callback: "Callback",
  input: "Answer",
  child: "Child run",
};

const COLUMNS: readonly Column<Wait>[] = [
  { id: "kind", head: "Waits for", width: "120px", narrow: "start", cell: ({ kind }) => WORDS[kind] },
  { id: "name", head: "Name", narrow: "line", cell: (wait) => <Name wait={wait} /> },
  {
    id: "due",
    head: "Until",
    width: TIME_WIDTH,
    align: "right",
    cell: ({ due }) => (due ? <time title={fullTime(due)}>{shortTime(due)}</time> : <span class="faint">no limit</span>),
  },
  { id: "outcome", head: "Outcome", width: "22%", narrow: "end", cell: (wait) => outcomeOf(wait) },
];

function Name({ wait }: { wait: Wait }): JSX.Element {
  const text = wait.event ?? wait.name;
  return wait.child_run_id ? (
    <a class="underlined" href={`/runs/${wait.child_run_id}`}>
      {text} #{wait.child_run_id}
    </a>
  ) : (
    <span class="cut name" title={text}>
      {text}
    </span>
  );
}

function outcomeOf({ outcome }: Wait): JSX.Element | string {
  switch (outcome?.kind) {
    case undefined:
      return <b>open</b>;
    case "slept":
      return "slept";
    case "event":
      return "it happened";
    case "answered":
      return "answered";
    case "child":
      return outcome.state.name;
    case "gone":
      return outcome.reason;
    case "timed_out":
      return "no answer in time";
  }
}

export function Tab({ run }: TabProps): JSX.Element {
  const cursor = useSignal<number | string | null>(null);
  const { data, error, refresh } = useQuery<{ items: Wait[] }>(`/api/runs/${run.id}/waits?limit=${SHOWN}`, {
    run: run.id,
    live: { "run.updated": true },
  });
  if (error !== null && data === null) return <Failure what="The list of waits" error={error} again={refresh} />;
  if (data === null) return <Loading />;
  if (data.items.length === 0)
    return (
      <Empty title="It has waited for nothing">
        A durable flow can sleep, wait for an event, an answer, or runs that it calls.
      </Empty>
    );
  return (
    <Table
      label="Waits"
      columns={COLUMNS}
      rows={data.items}
      keyOf={({ id }) => id}
      total={data.items.length}
      cursor={cursor}
      narrowHeight={64}
    />
  );
}
