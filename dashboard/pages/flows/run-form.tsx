/** Runs a flow with parameters from the form of its schema. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { FlowSummary } from "#protocol/records/flow";
import type { Run } from "#protocol/records/run";
import { ask, messageOf } from "../../api/client.ts";
import { offline } from "../../live/link.ts";
import { Section } from "../../parts/layout.tsx";
import { fieldIn, fieldsOf, SchemaFields, valuesOf } from "../../parts/schema-form.tsx";
import { navigate } from "../../router/router.ts";

export function RunForm({ flow }: { flow: FlowSummary }): JSX.Element {
  const fields = useMemo(() => fieldsOf(flow.parameter_schema), [flow.parameter_schema]);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [tags, setTags] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      const parameters = valuesOf(fields, texts);
      const words = tags.split(/[\s,]+/).filter(Boolean);
      const run = await ask<Run>(`/api/flows/${flow.id}/runs`, { method: "POST", body: { parameters, tags: words } });
      navigate(`/runs/${run.id}`);
    } catch (cause) {
      setProblem(messageOf(cause));
      setBusy(false);
    }
  };
  const elsewhere = problem !== "" && fieldIn(problem, fields) === null;
  return (
    <Section title="Run it">
      <form class="run-form" onSubmit={submit} noValidate>
        {fields.length === 0 && <p class="dim">It takes no parameters.</p>}
        <SchemaFields
          fields={fields}
          texts={texts}
          change={(name, text) => setTexts({ ...texts, [name]: text })}
          problem={problem}
        />
        <label class="stacked">
          Tags
          <input class="field" type="text" value={tags} onInput={(event) => setTags(event.currentTarget.value)} />
        </label>
        {elsewhere && (
          <p class="problem" role="alert">
            {problem}.
          </p>
        )}
        <button type="submit" class="button primary" disabled={busy || flow.error !== null || offline.value}>
          Run <bdi>{flow.name}</bdi>
        </button>
      </form>
    </Section>
  );
}
