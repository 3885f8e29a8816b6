/**
 * Seams for a second, asynchronous store. Today's places that assume SQLite in this process are ceilings: a number falls with
 * its places and never rises.
 */
import t from "tap";
import { PRODUCT, type SourceFile } from "./sources.ts";

interface Seam {
  what: string;
  pattern: RegExp;
  /** The form of the files that the pattern is for: `code` where it includes quoted text. */
  form: "code" | "bare";
  folders: readonly string[];
  /** Number of places by file, with the reason. */
  places: Readonly<Record<string, readonly [count: number, reason: string]>>;
}

const SEAMS: readonly Seam[] = [
  {
    what: "imports of handles of the store outside storage/",
    pattern: /from "#storage\/(?:sqlite\/(?:driver|statements|checkpoint)|read\/read-handle|write\/write-handle)"/g,
    form: "code",
    folders: ["actors", "gateway", "server", "cli", "sdk"],
    places: {
      "actors/dispatch-group/dispatch-group.ts": [1, "the group opens the handle again at each of its starts"],
      "actors/dispatch-group/load.ts": [1, "loading and the later reads of single rows are calls on one handle"],
      "actors/rule-engine/rule-engine.ts": [1, "events behind the cursor are read within the step that matches them"],
      "gateway/reads/reads.ts": [2, "reads by key and first pages are answered without a change of threads"],
      "server/main-thread.ts": [1, "the checkpointer copies the WAL, which another store does not have"],
      "server/operations/doctor.ts": [1, "the doctor checks the file itself"],
      "server/threads/core.ts": [2, "the port that opens the core's handle"],
      "server/threads/writer.ts": [2, "the port that opens the write handle"],
    },
  },
  {
    what: "reads of the store within a step of an actor",
    pattern: /\breader\.\w+\(|\bfacts\.(?:hasFired|chainOf)\(|\b\w+\(statements(?:\.database)?[,)]/g,
    form: "bare",
    folders: ["actors"],
    places: {
      "actors/core/state/durable.ts": [
        5,
        "settled waits, lineages of runs that have ended or wait for a rerun, and events older than a wait",
      ],
      "actors/core/state/live-state.ts": [8, "rows that are not in memory: ended runs, backfills, texts of runs, variables"],
      "actors/core/state/parked-runs.ts": [2, "parked runs that have left memory (ADR 31), many by one read"],
      "actors/core/state/rule.ts": [2, "whether a rule fired for a run and the length of its chain, beyond the newest in memory"],
      "actors/dispatch-group/dispatch-group.ts": [1, "the start loads the state; it may wait already"],
      "actors/dispatch-group/load.ts": [17, "the reads behind the rows above, and the runs and rules of the start"],
      "actors/dispatcher/clock/clock-repair.ts": [1, "runs of a schedule's later fires, once per repair of the clock"],
      "actors/dispatcher/states/delete-flow.ts": [1, "the next runs of the flow, once per slice of its deletion"],
      "actors/dispatcher/retention/sweep.ts": [2, "what has expired, once per slice of a sweep"],
      "actors/rule-engine/rule-engine.ts": [1, "the events of a batch"],
    },
  },
  {
    what: "places that count or compare ids of events",
    pattern:
      /\btake\("event"|\btakeEvents\(|\bnextIds\.event\b|\.newestEvent\b|\beventId \+=|\b(?:cursor|since_event|storedCursor) (?:[<>]=?|[!=]==|-) |(?:[<>]=?|[!=]==|-) (?:\w+\.)*(?:cursor|since_event|storedCursor)\b/g,
    form: "code",
    folders: ["actors", "gateway", "protocol", "server"],
    places: {
      "actors/core/state/durable.ts": [1, "an event is newer than a wait, or the store says whether it is a candidate"],
      "actors/core/state/live-state.ts": [1, "the newest event when a wait is armed"],
      "actors/core/state/rule.ts": [
        3,
        "a method counts events and notes the step that decided the newest one; a getter returns the id of the newest",
      ],
      "actors/core/step-events.ts": [
        2,
        "the core counts with the writer, so that a decision can name an event before it is stored",
      ],
      "actors/rule-engine/reactions/reactions.ts": [
        3,
        "reactions apply once: at their cursor, and to events after the rule's start",
      ],
      "actors/rule-engine/rule-engine.ts": [8, "the engine passes all events before a tick or deadline, in the order of ids"],
      "actors/rule-engine/rules/rule-rows.ts": [2, "a new rule sees only the events after its creation"],
      "gateway/stream/stream-ring.ts": [1, "a commit carries the id of its first event only; the others follow it"],
      "protocol/wire/feed.ts": [1, "the same for answers that are events"],
    },
  },
];

function countsOf({ pattern, form, folders }: Seam): Map<string, number> {
  const files = PRODUCT.filter(
    ({ folder, path }) => folders.includes(folder) && !path.startsWith("actors/scheduler/recurrence/"),
  );
  const counted = files.map((file: SourceFile) => [file.path, [...file[form].matchAll(pattern)].length] as const);
  return new Map(counted.filter(([, count]) => count > 0));
}

for (const seam of SEAMS)
  t.test(`${seam.what} only become fewer`, async (t) => {
    const found: string[] = [];
    const counts = countsOf(seam);
    for (const path of new Set([...counts.keys(), ...Object.keys(seam.places)])) {
      const count = counts.get(path) ?? 0;
      const most = seam.places[path]?.[0] ?? 0;
      if (count > most) found.push(`${path} may have ${most} and has ${count}`);
      if (count < most) found.push(`${path} has ${count} now: lower its number here`);
    }
    t.same(found, []);
  });
