/** Runs a run again, with the same parameters or with edited ones. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { FlowSummary } from "#protocol/records/flow";
import type { Run } from "#protocol/records/run";
import { messageOf } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { offline } from "../../live/link.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Loading } from "../../parts/notice.tsx";
import { fieldIn, fieldsOf, type SchemaField, SchemaFields, textsOf, valuesOf } from "../../parts/schema-form.tsx";
import { rerun } from "../../records/run-actions.ts";

const asked = signal<Run | null>(null);

export function askToRerun(run: Run): void {
  asked.value = run;
}

function close(): void {
  asked.value = null;
}

/** Holds the dialog; once per page. */
export function RerunDialog(): JSX.Element | null {
  const run = asked.value;
  if (run === null) return null;
  return (
    <Dialog label={`Run ${run.flow_name} again`} close={close}>
      <h2>
        Run <bdi>{run.flow_name}</bdi> again?
      </h2>
      <Form run={run} />
    </Dialog>
  );
}

/** Parameters of the run that the schema does not declare, as one JSON text. */
const OTHER: Omit<SchemaField, "initial"> = {
  ...{ name: "other", kind: "json", required: false, title: "Parameters", hint: "a JSON object", choices: [] },
};

function Form({ run }: { run: Run }): JSX.Element {
  const flow = useQuery<FlowSummary>(`/api/flows/${run.flow_id}`);
  if (flow.data === null && flow.error === null) return <Loading rows={2} />;
  // An unknown flow has no schema: its parameters are edited as JSON.
  return <Fields run={run} schema={flow.data?.parameter_schema} />;
}

function Fields({ run, schema }: { run: Run; schema: FlowSummary["parameter_schema"] | undefined }): JSX.Element {
  const { fields, given } = useMemo(() => formOf(run, schema), [run, schema]);
  const [texts, setTexts] = useState(given);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const go = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => go.current?.focus(), []);
  const edited = Object.keys(texts).some((name) => texts[name] !== given[name]);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await rerun(run, edited ? parametersOf(fields, texts) : null);
      close();
    } catch (cause) {
      setProblem(messageOf(cause));
      setBusy(false);
    }
  };
  const elsewhere = problem !== "" && fieldIn(problem, fields) === null;
  return (
    <form onSubmit={submit} noValidate>
      <p class="dialog-text">
        {edited
          ? "A new run with these parameters and the tags of this one. This one stays as it is."
          : "A new run with the same parameters and tags. This one stays as it is."}
      </p>
      <SchemaFields
        fields={fields}
        texts={texts}
        change={(name, text) => setTexts({ ...texts, [name]: text })}
        problem={problem}
      />
      {elsewhere && (
        <p class="problem" role="alert">
          {problem}.
        </p>
      )}
      <div class="row dialog-actions">
        <button type="button" class="button" onClick={close}>
          Keep as it is
        </button>
        <button type="submit" ref={go} class="button primary" disabled={busy || offline.value}>
          {edited ? "Run with these" : "Run again"}
        </button>
      </div>
    </form>
  );
}

interface FormContent {
  fields: readonly SchemaField[];
  given: Readonly<Record<string, string>>;
}

function formOf(run: Run, schema: FlowSummary["parameter_schema"] | undefined): FormContent {
  const parameters = run.parameters ?? {};
  const fields = fieldsOf(schema);
  const named = new Set(fields.map(({ name }) => name));
  const rest = Object.fromEntries(Object.entries(parameters).filter(([name]) => !named.has(name)));
  const others = Object.keys(rest).length > 0 || fields.length === 0;
  const initial = JSON.stringify(rest, null, 2);
  const all = others ? [...fields, { ...OTHER, title: fields.length === 0 ? "Parameters" : "Others", initial }] : fields;
  return { fields: all, given: { ...textsOf(fields, parameters), ...(others && { [OTHER.name]: initial }) } };
}

function parametersOf(fields: readonly SchemaField[], texts: Readonly<Record<string, string>>): Record<string, unknown> {
  const { [OTHER.name]: others, ...named } = valuesOf(fields, texts);
  const last = fields.at(-1);
  // A flow may have a parameter of this name.
  if (last?.hint !== OTHER.hint) return { ...named, ...(others !== undefined && { [OTHER.name]: others }) };
  if (others === undefined) return named;
  if (typeof others !== "object" || others === null || Array.isArray(others))
    throw new Error(`parameter "${OTHER.name}": expected a JSON object`);
  return { ...named, ...others };
}
