/** The actors of the server with their figures. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { ActorInfo } from "#protocol/records/server";
import { useQuery } from "../../api/query.ts";
import { duration } from "../../format/duration.ts";
import { count } from "../../format/number.ts";
import { Section } from "../../parts/layout.tsx";
import { Failure, Loading } from "../../parts/notice.tsx";
import { type Column, Table } from "../../parts/table/table.tsx";
import { Glyph } from "../../state/glyph.tsx";

const EVERY_MS = 5_000;

/** Glyph and hue of each state of an actor. */
const LOOKS: Readonly<Record<ActorInfo["state"], readonly [glyph: string, hue: string]>> = {
  starting: ["pending", "pending"],
  running: ["running", "running"],
  stopping: ["cancelling", "cancelling"],
  stopped: ["cancelled", "cancelled"],
  crashed: ["crashed", "crashed"],
};

function ActorState({ state }: { state: ActorInfo["state"] }): JSX.Element {
  const [glyph, hue] = LOOKS[state];
  return (
    <span class={`state s-${hue} ${state === "crashed" ? "loud" : "quiet"}`}>
      <Glyph name={glyph} />
      <span>{state}</span>
    </span>
  );
}

/** A count that is dimmed while it is zero. */
function Figure({ value }: { value: number }): JSX.Element {
  return <span class={value === 0 ? "faint" : ""}>{count(value)}</span>;
}

const COLUMNS: readonly Column<ActorInfo>[] = [
  { id: "name", head: "Actor", width: "200px", narrow: "start", cell: ({ name }) => <span class="cut name">{name}</span> },
  { id: "state", head: "State", width: "112px", narrow: "end", cell: ({ state }) => <ActorState state={state} /> },
  {
    id: "waiting",
    head: "Waiting",
    width: "80px",
    align: "right",
    cell: ({ mailbox_depth }) => <Figure value={mailbox_depth} />,
  },
  { id: "handled", head: "Handled", width: "96px", align: "right", cell: ({ handled }) => count(handled) },
  {
    id: "mean",
    head: "Mean step",
    width: "88px",
    align: "right",
    medium: false,
    cell: ({ handled, step_us }) => (handled === 0 ? "" : stepText(step_us / handled)),
  },
  {
    id: "longest",
    head: "Longest step",
    width: "96px",
    align: "right",
    medium: false,
    cell: ({ step_max_us, last_stall }) => <span title={last_stall ?? ""}>{stepText(step_max_us)}</span>,
  },
  { id: "dropped", head: "Dropped", width: "76px", align: "right", cell: ({ dropped }) => <Figure value={dropped} /> },
  { id: "restarts", head: "Restarts", width: "76px", align: "right", cell: ({ restarts }) => <Figure value={restarts} /> },
  {
    id: "error",
    head: "Last error",
    narrow: "line",
    cell: ({ last_error }) => (
      <span class="cut why" title={last_error ?? ""}>
        {last_error}
      </span>
    ),
  },
];

/** Steps are short: shown in microseconds below one millisecond. */
function stepText(us: number): string {
  return us < 1_000 ? `${Math.round(us)} \u00b5s` : duration(us);
}

export function ActorsTable(): JSX.Element {
  const actors = useQuery<ActorInfo[]>("/api/actors", { everyMs: EVERY_MS });
  const cursor = useSignal<number | string | null>(null);
  const rows = actors.data ?? [];
  return (
    <Section title="Actors" note={rows.length > 0 ? "since the start of their threads" : undefined}>
      {actors.error !== null && <Failure what="The actors" error={actors.error} again={actors.refresh} />}
      {actors.data === null && actors.error === null && <Loading rows={4} />}
      {rows.length > 0 && (
        <Table
          label="Actors"
          columns={COLUMNS}
          rows={rows}
          keyOf={({ name }) => name}
          total={rows.length}
          cursor={cursor}
          keys={false}
        />
      )}
    </Section>
  );
}
