/** The list of problems and questions that need a person. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Run } from "#protocol/records/run";
import { pageAt } from "#protocol/routes/dashboard-pages";
import { useQuery } from "../../api/query.ts";
import { roughDuration } from "../../format/duration.ts";
import { nowUs } from "../../format/now.ts";
import { fullTime } from "../../format/time.ts";
import { firstLine } from "../../records/why.ts";
import { Glyph } from "../../state/glyph.tsx";
import { PAGES } from "../pages.ts";
import type { Need } from "./needs.ts";

const SHOWN = 8;

export function NeedsList({ needs }: { needs: readonly Need[] }): JSX.Element {
  const [all, setAll] = useState(false);
  const shown = all ? needs : needs.slice(0, SHOWN);
  if (needs.length === 0) return <p class="calm dim">No failing flow, nothing late, no question, no full resource.</p>;
  return (
    <>
      <ul class="needs">
        {shown.map((need) => (
          <NeedRow key={need.id} need={need} />
        ))}
      </ul>
      {needs.length > SHOWN && (
        <button type="button" class="button quiet small" onClick={() => setAll(!all)}>
          {all ? "Show fewer" : `Show ${needs.length - SHOWN} more`}
        </button>
      )}
    </>
  );
}

function NeedRow({ need }: { need: Need }): JSX.Element {
  const run = useQuery<Run>(need.run === undefined ? null : `/api/runs/${need.run}`).data;
  const why = run === null ? need.why : firstLine(run.state.message ?? "") || "It ended without a message";
  const since = run?.end_time ?? need.since;
  const page = pageAt(need.href)?.page;
  return (
    <li class={`s-${need.hue}`}>
      <Glyph name={need.glyph} size={16} />
      <div>
        <div class="need-title">
          <em>{need.what}</em> <span class="name">{need.name}</span>
        </div>
        <div class="cut why" title={why}>
          {why}
        </div>
      </div>
      <span class="age">{since !== null && <time title={fullTime(since)}>{roughDuration(nowUs() - since)}</time>}</span>
      {page !== undefined && page in PAGES ? (
        <a class="button" href={need.href}>
          {need.action}
        </a>
      ) : (
        <span />
      )}
    </li>
  );
}
