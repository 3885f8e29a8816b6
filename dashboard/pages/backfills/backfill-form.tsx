/** Creates a backfill: a dry run first shows what would be created. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { BackfillPreview, BackfillStatus } from "#protocol/records/backfill";
import type { FlowSummary } from "#protocol/records/flow";
import { ask, messageOf } from "../../api/client.ts";
import { counted } from "../../format/number.ts";
import { offline } from "../../live/link.ts";
import { Section, Select } from "../../parts/layout.tsx";
import { fieldIn, fieldsOf, type SchemaField, SchemaFields, valuesOf } from "../../parts/schema-form.tsx";
import { navigate, param } from "../../router/router.ts";

interface Draft {
  parameter: string;
  start: string;
  end: string;
  interval: string;
  concurrency: string;
  reverse: boolean;
}

const EMPTY: Draft = { parameter: "", start: "", end: "", interval: "1d", concurrency: "1", reverse: false };

/** The parameters that a backfill can fill: a server refuses any that is not a date or a time. */
function datesOf(flow: FlowSummary): SchemaField[] {
  return fieldsOf(flow.parameter_schema).filter(({ kind }) => kind === "date" || kind === "date-time");
}

export function BackfillForm({ flows }: { flows: readonly FlowSummary[] }): JSX.Element {
  const able = flows.filter((flow) => datesOf(flow).length > 0);
  const [flowId, setFlowId] = useState(() => param("flow") || String(able[0]?.id ?? ""));
  const flow = flows.find(({ id }) => String(id) === flowId);
  if (flow === undefined && able.length === 0)
    return (
      <Section title="New backfill">
        <p class="calm dim">No flow has a parameter that is a date or a time, so there is nothing to fill.</p>
      </Section>
    );
  const listed = flow === undefined || able.includes(flow) ? able : [flow, ...able];
  const options = listed.map(({ id, project, name }) => [String(id), `${project} / ${name}`] as const);
  return (
    <Section title="New backfill">
      <div class="backfill-flow">
        <Select label="Flow" options={options} chosen={flowId} choose={setFlowId} />
      </div>
      {flow !== undefined && <FlowBackfill key={flow.id} flow={flow} />}
    </Section>
  );
}

function FlowBackfill({ flow }: { flow: FlowSummary }): JSX.Element {
  const fields = fieldsOf(flow.parameter_schema);
  const dates = datesOf(flow);
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, parameter: dates[0]?.name ?? "" });
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [preview, setPreview] = useState<BackfillPreview | null>(null);
  const [problem, setProblem] = useState("");
  if (dates.length === 0)
    return <p class="calm dim">It has no parameter that is a date or a time, so a backfill cannot fill it.</p>;
  const others = fields.filter(({ name }) => name !== draft.parameter);
  const change = (part: Partial<Draft>) => {
    setDraft({ ...draft, ...part });
    setPreview(null);
  };
  const send = async (dryRun: boolean) => {
    setProblem("");
    try {
      const set = others.filter(({ name, initial }) => texts[name] !== undefined && texts[name] !== initial);
      const body = { ...draft, concurrency: Number(draft.concurrency), extra_parameters: valuesOf(set, texts), dry_run: dryRun };
      const answer = await ask<BackfillPreview | BackfillStatus>(`/api/flows/${flow.id}/backfill`, { method: "POST", body });
      if ("dry_run" in answer) setPreview(answer);
      else navigate(`/backfills/${answer.id}`);
    } catch (cause) {
      setProblem(messageOf(cause));
    }
  };
  return (
    <form
      class="backfill-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send(preview === null);
      }}
    >
      <Values draft={draft} change={change} names={dates.map(({ name }) => name)} problem={problem} />
      <SchemaFields
        fields={others}
        texts={texts}
        change={(name, text) => {
          setTexts({ ...texts, [name]: text });
          setPreview(null);
        }}
        problem={problem}
      />
      <Outcome preview={preview} problem={fieldIn(problem, others) === null ? problem : ""} />
      <div class="row wrap">
        {preview === null ? (
          <button type="submit" class="button primary" disabled={offline.value}>
            Dry run
          </button>
        ) : (
          <button type="submit" class="button primary" disabled={offline.value}>
            Create {counted(preview.runs, "run")}
          </button>
        )}
        <span class="hint">
          {preview === null ? "Says what would be created, and creates nothing." : "Nothing is created yet."}
        </span>
      </div>
    </form>
  );
}

interface ValuesProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  names: readonly string[];
  problem: string;
}

function Values({ draft, change, names, problem }: ValuesProps): JSX.Element {
  const text = (name: keyof Draft & string, label: string, hint: string) => {
    const wrong = problem.startsWith(`${name} `) || problem.includes(`"${String(draft[name as "start"])}"`);
    return (
      <label class="stacked">
        {label}
        <input
          class={`field ${wrong ? "wrong" : ""}`}
          type="text"
          value={String(draft[name])}
          aria-invalid={wrong}
          onInput={(event) => change({ [name]: event.currentTarget.value })}
        />
        <span class="faint">{hint}</span>
      </label>
    );
  };
  return (
    <>
      <div class="stacked">
        Parameter
        <Select
          label="Parameter"
          options={names.map((name) => [name, name] as const)}
          chosen={draft.parameter}
          choose={(parameter) => change({ parameter })}
        />
        <span class="faint">a run for each of its values</span>
      </div>
      {text("start", "First value", "2026-10-01 or an RFC 3339 time")}
      {text("end", "Last value", "it is included")}
      {text("interval", "Step", "1d, 12h, 30m or seconds")}
      {text("concurrency", "At once", "runs of this backfill that execute together")}
      <label class="row check">
        <input type="checkbox" checked={draft.reverse} onChange={(event) => change({ reverse: event.currentTarget.checked })} />
        Newest value first
      </label>
    </>
  );
}

function Outcome({ preview, problem }: { preview: BackfillPreview | null; problem: string }): JSX.Element | null {
  if (problem !== "")
    return (
      <p class="problem wide" role="alert">
        {problem}.
      </p>
    );
  if (preview === null) return null;
  return (
    <p class="sunk wide" role="status">
      It would create <b>{counted(preview.runs, "run")}</b>, from <bdi>{preview.parameter}</bdi> <b>{preview.first}</b> to{" "}
      <b>{preview.last}</b>.
    </p>
  );
}
