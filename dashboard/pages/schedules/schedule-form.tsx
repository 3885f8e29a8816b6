/** Creates or edits a schedule; shows the next ten fires while the user types. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FlowSummary } from "#protocol/records/flow";
import type { CatchupPolicy, PreviewResponse, ScheduleRow } from "#protocol/records/schedule";
import { ask, isAbort, messageOf } from "../../api/client.ts";
import { offsetAt } from "../../format/calendar.ts";
import { LOCAL_ZONE } from "../../format/time.ts";
import { offline } from "../../live/link.ts";
import { Section, Segments, Select } from "../../parts/layout.tsx";
import { showToast } from "../../parts/toast.tsx";
import { scheduleText } from "../../records/schedule-words.ts";
import { setParams } from "../../router/router.ts";

const TYPING_MS = 200;
const SHOWN = 10;

type Kind = "cron" | "interval" | "rrule";

interface Draft {
  kind: Kind;
  cron: string;
  interval: string;
  rrule: string;
  timezone: string;
  catchup: CatchupPolicy;
  catchup_max: string;
  /** JSON text; empty without any. */
  parameters: string;
  persist: boolean;
}

function draftOf(row: ScheduleRow | null): Draft {
  const spec = row?.schedule;
  return {
    kind: spec?.kind ?? "cron",
    cron: spec?.kind === "cron" ? spec.cron : "0 2 * * *",
    interval: spec?.kind === "interval" ? String(spec.interval) : "900",
    rrule: spec?.kind === "rrule" ? spec.rrule : "DTSTART:20260101T020000\nRRULE:FREQ=WEEKLY;BYDAY=MO",
    timezone: spec?.timezone ?? LOCAL_ZONE,
    catchup: row?.catchup ?? "skip",
    catchup_max: String(row?.catchup_max ?? 100),
    parameters: parametersText(row),
    persist: row?.persist ?? true,
  };
}

function parametersText(row: Partial<ScheduleRow> | null): string {
  return row?.parameters === undefined ? "" : JSON.stringify(row.parameters, null, 2);
}

/** An empty map takes former parameters away. @throws Error for text that is no JSON object */
function parametersOf({ parameters }: Draft): Record<string, unknown> {
  if (parameters.trim() === "") return {};
  let read: unknown = null;
  try {
    read = JSON.parse(parameters);
  } catch {
    // Named below, like other JSON that is no object.
  }
  if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Record<string, unknown>;
  throw new Error("The parameters are no JSON object");
}

function specOf(draft: Draft) {
  const timezone = draft.timezone.trim() === "" ? null : draft.timezone.trim();
  if (draft.kind === "cron") return { kind: "cron", cron: draft.cron, timezone };
  if (draft.kind === "interval") return { kind: "interval", interval: Number(draft.interval), timezone };
  return { kind: "rrule", rrule: draft.rrule, timezone };
}

/** Requests the next fires a moment after the last key. */
function usePreview(draft: Draft) {
  const [preview, setPreview] = useState<{ next: PreviewResponse | null; problem: string }>({ next: null, problem: "" });
  const body = JSON.stringify({ ...specOf(draft), count: SHOWN });
  useEffect(() => {
    const abort = new AbortController();
    const timer = window.setTimeout(() => {
      ask<PreviewResponse>("/api/schedules/preview", { method: "POST", body: JSON.parse(body), signal: abort.signal }).then(
        (next) => setPreview({ next, problem: "" }),
        (cause: unknown) => isAbort(cause) || setPreview((old) => ({ ...old, problem: messageOf(cause) })),
      );
    }, TYPING_MS);
    return () => {
      window.clearTimeout(timer);
      abort.abort();
    };
  }, [body]);
  return preview;
}

interface FormProps {
  flows: readonly FlowSummary[];
  /** The schedule to edit; null creates a new one. */
  row: ScheduleRow | null;
  flowId: number | null;
}

const close = () => setParams({ new: null, edit: null });

export function ScheduleForm({ flows, row, flowId }: FormProps): JSX.Element {
  const [draft, setDraft] = useState(() => draftOf(row));
  const [flow, setFlow] = useState(String(flowId ?? flows[0]?.id ?? ""));
  const [problem, setProblem] = useState("");
  const preview = usePreview(draft);
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  const named = flows.find(({ id }) => String(id) === flow);
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    const { kind, ...spec } = specOf(draft);
    try {
      const parameters = parametersOf(draft);
      const policy = { catchup: draft.catchup, catchup_max: Number(draft.catchup_max), parameters, persist: draft.persist };
      const made =
        row === null
          ? await ask<ScheduleRow>(`/api/flows/${flow}/schedules`, { method: "POST", body: { kind, ...spec, ...policy } })
          : await ask<ScheduleRow>(`/api/schedules/${row.id}`, { method: "PATCH", body: { ...spec, ...policy } });
      showToast(
        row === null ? `Schedule made: ${scheduleText(made.schedule)}.` : `Schedule changed: ${scheduleText(made.schedule)}.`,
      );
      setParams({ new: null, edit: null, schedule: String(made.id) });
    } catch (cause) {
      setProblem(messageOf(cause));
    }
  };
  return (
    <Section title={row === null ? "New schedule" : "Edit schedule"} note={named && `${named.project} / ${named.name}`}>
      <form class="schedule-form" onSubmit={save}>
        <div class="form-fields">
          {row === null && (
            <Select
              label="Flow"
              options={flows.map(({ id, project, name }) => [String(id), `${project} / ${name}`] as const)}
              chosen={flow}
              choose={setFlow}
            />
          )}
          <SpecFields {...{ draft, change }} problem={preview.problem} />
          <PolicyFields {...{ draft, change, row }} />
          {problem !== "" && (
            <p class="problem" role="alert">
              {problem}.
            </p>
          )}
          <div class="row">
            <button type="submit" class="button primary" disabled={preview.problem !== "" || flow === "" || offline.value}>
              {row === null ? "Make schedule" : "Save"}
            </button>
            <button type="button" class="button quiet" onClick={close}>
              Close
            </button>
          </div>
        </div>
        <Preview next={preview.next} stale={preview.problem !== ""} zone={draft.timezone} />
      </form>
    </Section>
  );
}

interface FieldsProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
}

function SpecFields({ draft, change, problem }: FieldsProps & { problem: string }): JSX.Element {
  const field = {
    cron: { label: "Cron", hint: "Minute, hour, day of the month, month, weekday" },
    interval: { label: "Seconds between fires", hint: "At least 1; 900 is a quarter of an hour" },
    rrule: { label: "RFC 5545 rule", hint: "DTSTART and RRULE, a line each" },
  }[draft.kind];
  const props = {
    class: `field mono ${problem === "" ? "" : "wrong"}`,
    value: draft[draft.kind],
    "aria-invalid": problem !== "",
    onInput: (event: { currentTarget: { value: string } }) => change({ [draft.kind]: event.currentTarget.value }),
  };
  return (
    <>
      <Segments
        label="Kind of schedule"
        options={[
          ["cron", "Cron"],
          ["interval", "Interval"],
          ["rrule", "Rule"],
        ]}
        chosen={draft.kind}
        choose={(kind) => change({ kind })}
      />
      {/* biome-ignore lint/a11y/noLabelWithoutControl: one of the two controls is inside */}
      <label class="stacked">
        {field.label}
        {draft.kind === "rrule" ? <textarea rows={3} {...props} /> : <input type="text" {...props} />}
        <span class={problem === "" ? "faint" : "problem"} role={problem === "" ? undefined : "alert"}>
          {problem === "" ? field.hint : `${problem}.`}
        </span>
      </label>
      <label class="stacked">
        Time zone
        <input
          class="field"
          type="text"
          list="zones"
          value={draft.timezone}
          onInput={(event) => change({ timezone: event.currentTarget.value })}
        />
        <datalist id="zones">
          {["UTC", ...Intl.supportedValuesOf("timeZone")].map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      </label>
    </>
  );
}

function PolicyFields({ draft, change, row }: FieldsProps & { row: ScheduleRow | null }): JSX.Element {
  return (
    <>
      <div class="stacked">
        Fires missed while the server was down
        <Select
          label="Missed fires"
          options={[
            ["skip", "run none"],
            ["latest", "run the latest"],
            ["all", "run all"],
          ]}
          chosen={draft.catchup}
          choose={(catchup) => change({ catchup })}
        />
      </div>
      {draft.catchup === "all" && (
        <label class="stacked">
          At most
          <input
            class="field"
            type="number"
            min={0}
            value={draft.catchup_max}
            onInput={(event) => change({ catchup_max: event.currentTarget.value })}
          />
        </label>
      )}
      <label class="stacked">
        Parameters of the runs
        <textarea
          class="field mono"
          rows={3}
          placeholder={'{ "day": "{{ fire.date }}" }'}
          value={draft.parameters}
          onInput={(event) => change({ parameters: event.currentTarget.value })}
        />
      </label>
      {row?.source === "code" && (
        <label class="row check">
          <input type="checkbox" checked={draft.persist} onChange={(event) => change({ persist: event.currentTarget.checked })} />
          <span>
            Keep: detach it from its declaration in code for good. Without it, the declaration applies again at the next server
            start.
          </span>
        </label>
      )}
    </>
  );
}

function zoned(us: number, zone: string, shape: Intl.DateTimeFormatOptions): string {
  try {
    return new Intl.DateTimeFormat("en-GB", { ...shape, timeZone: zone, hourCycle: "h23" }).format(us / 1000).replace(",", "");
  } catch {
    return "";
  }
}

const DAY = { weekday: "short", day: "numeric", month: "short" } as const;
const TIME = { hour: "2-digit", minute: "2-digit" } as const;

/** A note on a fire: the clock changed since the one before. */
function noteOf(us: number, before: number | undefined, zone: string): string {
  if (before === undefined) return "";
  try {
    const hours = (offsetAt(us, zone) - offsetAt(before, zone)) / 3_600_000_000;
    if (hours === 0) return "";
    return `clocks changed: ${Math.abs(hours)} h ${hours < 0 ? "later" : "earlier"} in UTC`;
  } catch {
    return "";
  }
}

function Preview({ next, stale, zone: wanted }: { next: PreviewResponse | null; stale: boolean; zone: string }): JSX.Element {
  const zone = next?.timezone ?? wanted;
  const times = next?.next ?? [];
  return (
    <div class={`scrolls ${stale ? "stale" : ""}`}>
      <table class="plain-table preview" aria-label="Next fires">
        <thead>
          <tr>
            {["Next fires", zone, "UTC", "Note"].map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((us, index) => (
            <tr key={us}>
              <td class="strong">{zoned(us, zone, DAY)}</td>
              <td>
                <time>{zoned(us, zone, TIME)}</time>
              </td>
              <td>
                <time>{zoned(us, "UTC", TIME)}</time>
              </td>
              <td class="dim">{noteOf(us, times[index - 1], zone)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {next !== null && times.length === 0 && <p class="dim calm">It never fires.</p>}
    </div>
  );
}
