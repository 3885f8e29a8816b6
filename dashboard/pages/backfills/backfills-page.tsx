/** All backfills, and the form for a new one, with a dry run first. */
import type { JSX } from "preact";
import type { BackfillStatus } from "#protocol/records/backfill";
import { useQuery } from "../../api/query.ts";
import { count } from "../../format/number.ts";
import { PageTitle, Section } from "../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { useFlows } from "../../records/flows.ts";
import { param } from "../../router/router.ts";
import { BackfillForm } from "./backfill-form.tsx";
import "./backfills.css";
import { BackfillLine } from "../../records/backfill-line.tsx";

export function Page(): JSX.Element {
  const flows = useFlows().data ?? [];
  const backfills = useQuery<BackfillStatus[]>("/api/backfills?limit=200", {
    live: {
      "backfill.created": true,
      "backfill.updated": true,
      "run.updated": (run) => !("deleted" in run) && run.backfill_id !== null,
    },
  });
  const names = new Map(flows.map(({ id, project, name }) => [id, `${project} / ${name}`]));
  return (
    <>
      <PageTitle title="Backfills" />
      {flows.length > 0 && <BackfillForm key={param("flow")} flows={flows} />}
      <Section title="Backfills made" note={backfills.data?.length ? `${count(backfills.data.length)}, newest first` : undefined}>
        {backfills.error !== null && <Failure what="The backfills" error={backfills.error} again={backfills.refresh} />}
        {backfills.data === null && backfills.error === null && <Loading rows={4} />}
        {backfills.data?.length === 0 && (
          <Empty title="No backfill yet">
            A backfill runs a flow once for each value of a date parameter, as many at once as you allow.
          </Empty>
        )}
        <ul class="rows">
          {backfills.data?.map((backfill) => (
            <BackfillLine
              key={backfill.id}
              backfill={backfill}
              name={names.get(backfill.flow_id) ?? `flow ${backfill.flow_id}`}
            />
          ))}
        </ul>
      </Section>
    </>
  );
}
