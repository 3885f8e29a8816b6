/** The previous and next run of the same flow. */
import { useEffect, useState } from "preact/hooks";
import type { Run, RunsPage } from "#protocol/records/run";
import { ask, withQuery } from "../../api/client.ts";
import { navigate, place } from "../../router/router.ts";

export interface Neighbours {
  previous: Run | null;
  next: Run | null;
  go: (which: "previous" | "next") => void;
}

/** The address keeps the tab. */
export function neighbourAddress(run: Run): string {
  return `/runs/${run.id}${place.value.search}`;
}

export function useNeighbours(run: Run): Neighbours {
  const [found, setFound] = useState<{ previous: Run | null; next: Run | null }>({ previous: null, next: null });
  useEffect(() => {
    const abort = new AbortController();
    const one = (query: object) =>
      ask<RunsPage>(withQuery("/api/runs", { flow_id: run.flow_id, limit: 1, cursor: run.id, ...query }), {
        signal: abort.signal,
      });
    Promise.all([one({ sort: "created_desc" }), one({ sort: "created_asc" })]).then(
      ([previous, next]) => setFound({ previous: previous.items[0] ?? null, next: next.items[0] ?? null }),
      () => {},
    );
    return () => abort.abort();
  }, [run.id]);
  return {
    ...found,
    go: (which) => {
      const to = found[which];
      if (to !== null) navigate(neighbourAddress(to));
    },
  };
}
