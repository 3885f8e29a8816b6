/** The answer to a run that waits for a person: a form of the question's schema, else text or JSON. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Run } from "#protocol/records/run";
import { ask, messageOf } from "../../api/client.ts";
import { offline } from "../../live/link.ts";
import { kindOfText, valueOfText } from "../../parts/json-text.ts";
import { fieldIn, fieldsOf, type SchemaField, SchemaFields, valuesOf } from "../../parts/schema-form.tsx";
import { showToast } from "../../parts/toast.tsx";

type Node = Readonly<Record<string, unknown>>;

/** Name of the only field if the answer is not an object. */
const ANSWER = "answer";

interface Question {
  fields: readonly SchemaField[];
  /** The answer is the object of all fields, or the value of the only field. */
  whole: boolean;
}

/** The question's schema as form fields; null if no form can be made of it. */
function questionOf(run: Run): Question | null {
  const schema = run.state.details?.["schema"];
  if (typeof schema !== "object" || schema === null) return null;
  const fields = fieldsOf(schema as Node);
  if (fields.length > 0) return { fields, whole: true };
  const one = fieldsOf({ type: "object", properties: { [ANSWER]: { title: "Answer", ...schema } }, required: [ANSWER] });
  return one[0]?.kind === "json" ? null : { fields: one, whole: false };
}

export function ResumeForm({ run }: { run: Run }): JSX.Element {
  const question = useMemo(() => questionOf(run), [run.state.timestamp]);
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState("");
  const text = texts[ANSWER] ?? "";
  const set = (name: string, value: string) => setTexts({ ...texts, [name]: value });
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setProblem("");
    try {
      await ask(`/api/runs/${run.id}/resume`, { method: "POST", body: { input: given(question, texts) } });
      showToast(`${run.name} was answered; its next attempt is scheduled.`);
    } catch (cause) {
      setProblem(messageOf(cause));
    }
  };
  return (
    <form class="banner s-paused resume" onSubmit={submit} noValidate={question !== null}>
      <div class="resume-question">
        <b>{run.state.message || "The run waits for an answer"}</b>
        {question === null ? (
          <label class="stacked">
            <span class="sr">Answer</span>
            <textarea
              class="field mono"
              rows={2}
              value={text}
              required
              onInput={(event) => set(ANSWER, event.currentTarget.value)}
            />
            <span class="meta dim">{text === "" ? "Text, or JSON." : `Sent as ${kindOfText(text)}.`}</span>
          </label>
        ) : (
          <SchemaFields fields={question.fields} texts={texts} change={set} problem={problem} />
        )}
        {problem !== "" && fieldIn(problem, question?.fields ?? []) === null && (
          <p class="problem" role="alert">
            {problem}.
          </p>
        )}
      </div>
      <button type="submit" class="button primary" disabled={offline.value}>
        Answer
      </button>
    </form>
  );
}

/** @throws Error with the name of the field whose JSON is invalid */
function given(question: Question | null, texts: Readonly<Record<string, string>>): unknown {
  if (question === null) return valueOfText(texts[ANSWER] ?? "");
  const values = valuesOf(question.fields, texts);
  return question.whole ? values : (values[ANSWER] ?? null);
}
