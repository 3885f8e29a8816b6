/** One backfill: every value as a cell in the colour of its run. */
import type { JSX } from "preact";
import type { BackfillStatus, BackfillValue } from "#protocol/records/backfill";
import { ask, messageOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { duration } from "../../format/duration.ts";
import { count, counted } from "../../format/number.ts";
import { fullTime } from "../../format/time.ts";
import { askBack } from "../../parts/dialog.tsx";
import { Facts, PageTitle, Section } from "../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { showToast } from "../../parts/toast.tsx";
import { endedOf, ProgressBar, progressText } from "../../records/backfill-line.tsx";
import { useFlows } from "../../records/flows.ts";
import { Glyph } from "../../state/glyph.tsx";
import { lookOfName, STATE_ORDER } from "../../state/look.ts";
import type { PageProps } from "../pages.ts";
import { ValueGrid } from "./value-grid.tsx";
import "./backfills.css";
import { offline } from "../../live/link.ts";

export function Page({ id }: PageProps): JSX.Element {
  const live = {
    "backfill.updated": (message: { backfill_id: number }) => message.backfill_id === id,
    "run.updated": (run: { deleted: true } | { backfill_id?: number | null }) => "deleted" in run || run.backfill_id === id,
  };
  const backfill = useQuery<BackfillStatus>(`/api/backfills/${id}`, { live });
  const values = useQuery<BackfillValue[]>(`/api/backfills/${id}/values`, { live });
  const flows = useFlows().data ?? [];
  if (backfill.error?.status === 404)
    return (
      <Empty title={`There is no backfill ${id}`}>
        <a href="/backfills">All backfills</a>
      </Empty>
    );
  if (backfill.data === null)
    return backfill.error === null ? (
      <Loading />
    ) : (
      <Failure what="The backfill" error={backfill.error} again={backfill.refresh} />
    );
  const flow = flows.find((each) => each.id === backfill.data?.flow_id);
  const name = flow === undefined ? `flow ${backfill.data.flow_id}` : `${flow.project} / ${flow.name}`;
  return (
    <>
      <nav class="crumb" aria-label="Place">
        <a href="/backfills">Backfills</a>
        <span aria-hidden="true">/</span>
        <a href={`/flows/${backfill.data.flow_id}`}>{name}</a>
      </nav>
      <PageTitle
        title={`Backfill ${id}`}
        beside={<span class="dim">{progressText(backfill.data)}</span>}
        actions={<Actions backfill={backfill.data} />}
      />
      <ProgressBar backfill={backfill.data} />
      <Facts facts={factsOf(backfill.data)} />
      <Section title="Values" actions={<Legend backfill={backfill.data} />}>
        {values.error !== null && <Failure what="Its values" error={values.error} again={values.refresh} />}
        {values.data !== null && <ValueGrid values={values.data} />}
      </Section>
    </>
  );
}

function Actions({ backfill }: { backfill: BackfillStatus }): JSX.Element {
  const left = backfill.total - endedOf(backfill);
  const cancel = async () => {
    try {
      await ask(`/api/backfills/${backfill.id}/cancel`, { method: "POST" });
      showToast("Backfill cancelled.");
    } catch (cause) {
      showToast(`Not cancelled: ${messageOf(cause)}.`);
    }
  };
  return (
    <>
      <a class="button" href={`/runs?backfill=${backfill.id}`}>
        Its runs
      </a>
      {left > 0 && !backfill.cancelled && (
        <button
          type="button"
          class="button danger"
          disabled={offline.value}
          onClick={() =>
            askBack({
              title: `Cancel backfill ${backfill.id}?`,
              body: "Runs that wait are cancelled, runs under way are asked to stop. What they have already written stays.",
              confirm: `Cancel ${counted(left, "run")}`,
              keep: "Keep going",
              act: () => void cancel(),
            })
          }
        >
          {"Cancel\u2026"}
        </button>
      )}
    </>
  );
}

function factsOf(backfill: BackfillStatus): Parameters<typeof Facts>[0]["facts"] {
  const extra = Object.keys(backfill.extra_parameters ?? {});
  return [
    ["Parameter", backfill.parameter],
    ["From, to", `${backfill.start_value}, ${backfill.end_value}`],
    ["Step", duration(backfill.interval_secs * 1_000_000)],
    ["At once", count(backfill.concurrency)],
    ["Made", fullTime(backfill.created_at)],
    extra.length > 0 ? ["Other parameters", <code class="mono">{JSON.stringify(backfill.extra_parameters)}</code>] : null,
  ];
}

function Legend({ backfill: { id, counts } }: { backfill: BackfillStatus }): JSX.Element {
  const names = STATE_ORDER.filter((name) => (counts[name] ?? 0) > 0);
  return (
    <div class="legend">
      {names.map((name) => (
        <a key={name} class={`s-${lookOfName(name).token}`} href={`/runs?backfill=${id}&state=${name}`}>
          <span>
            <Glyph name={lookOfName(name).token} size={12} /> {lookOfName(name).word} <b>{count(counts[name] ?? 0)}</b>
          </span>
        </a>
      ))}
    </div>
  );
}
