/** Shows that the served code was reloaded, and how many flows changed: they run the current content of the files. */
import type { JSX } from "preact";
import type { Settings } from "#protocol/records/server";
import { useQuery } from "../../api/query.ts";
import { counted } from "../../format/number.ts";
import { fullTime, shortTime } from "../../format/time.ts";

export function Reloaded(): JSX.Element | null {
  const settings = useQuery<Settings>("/api/settings", { live: { "flow.registered": true } });
  const reloaded = settings.data?.code_reloaded ?? null;
  if (reloaded === null) return null;
  const { at, files, names, flows } = reloaded;
  const more = files > names.length ? ` and ${files - names.length} more` : "";
  return (
    <p class="sub" title={fullTime(at)}>
      Code of {counted(flows, "flow")} reloaded {shortTime(at)}: <span class="mono">{names.join(", ")}</span>
      {more} changed
    </p>
  );
}
