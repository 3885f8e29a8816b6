/** The answer to a run that waits for a person. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Run } from "#protocol/run";
import { ask, messageOf } from "../../api/client.ts";
import { showToast } from "../../parts/toast.tsx";

/** Text that is JSON is sent as what it says, any other as text. */
function answerOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function kindOf(text: string): string {
  const value = answerOf(text);
  if (typeof value === "string") return "text";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}

export function ResumeForm({ run }: { run: Run }): JSX.Element {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    try {
      await ask(`/api/runs/${run.id}/resume`, { method: "POST", body: { input: answerOf(text) } });
      showToast(`${run.name} was answered; its next attempt is scheduled.`);
    } catch (cause) {
      setProblem(`${messageOf(cause)}.`);
    }
  };
  return (
    <form class="banner s-paused resume" onSubmit={submit}>
      <label class="stacked">
        <b>{run.state.message || "The run waits for an answer"}</b>
        <textarea class="field mono" rows={2} value={text} required onInput={(event) => setText(event.currentTarget.value)} />
        <span class="meta dim">{text === "" ? "Text, or JSON." : `Sent as ${kindOf(text)}.`}</span>
        {problem !== "" && (
          <span class="problem" role="alert">
            {problem}
          </span>
        )}
      </label>
      <button type="submit" class="button primary">
        Answer
      </button>
    </form>
  );
}
