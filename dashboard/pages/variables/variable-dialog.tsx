/** Adds or changes a variable. A concurrent change by another client is shown before it is overwritten. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { VariableRow } from "#protocol/records/variable";
import { ApiError, ask, messageOf } from "../../api/client.ts";
import { fullTime } from "../../format/time.ts";
import { offline } from "../../live/link.ts";
import { askBack, Dialog } from "../../parts/dialog.tsx";
import { kindOfText, textOfValue, valueOfText } from "../../parts/json-text.ts";
import { showToast } from "../../parts/toast.tsx";

interface DialogProps {
  /** Null: a new variable. */
  known: VariableRow | null;
  close: () => void;
  /** Deletes the variable, with an undo. */
  remove: (name: string) => void;
}

interface Draft {
  name: string;
  /** For a secret: an empty text keeps its value. */
  text: string;
  secret: boolean;
  tags: string;
}

function draftOf(known: VariableRow | null): Draft {
  if (known === null) return { name: "", text: "", secret: false, tags: "" };
  const { name, value, secret, tags = [] } = known;
  return { name, text: secret ? "" : textOfValue(value), secret, tags: tags.join(", ") };
}

function pathOf(name: string): string {
  return `/api/variables/${encodeURIComponent(name)}`;
}

/** Sends a draft. @throws ApiError with status 409 if it would overwrite another client's change */
async function save(draft: Draft, before: VariableRow | null, overwrite: boolean): Promise<void> {
  const tags = draft.tags.split(/[\s,]+/).filter(Boolean);
  const { name, secret } = draft;
  const value = valueOfText(draft.text);
  if (before === null) {
    await ask("/api/variables", { method: "POST", body: { name, value, secret, tags, overwrite } });
    return;
  }
  if (!overwrite) await refuseStale(before);
  const keeps = before.secret && draft.text === "";
  await ask(pathOf(name), { method: "PATCH", body: keeps ? { secret, tags } : { value, secret, tags } });
}

async function refuseStale({ name, updated_at }: VariableRow): Promise<void> {
  const now = await ask<VariableRow>(pathOf(name));
  if (now.updated_at === updated_at) return;
  const value = now.secret ? "a new secret" : JSON.stringify(now.value);
  throw new ApiError(409, `${name} was changed to ${value} on ${fullTime(now.updated_at)}, after this form was opened`);
}

export function VariableDialog({ known, close, remove }: DialogProps): JSX.Element {
  /** The variable as of the opening of the form. */
  const [before] = useState(known);
  const [draft, setDraft] = useState(() => draftOf(known));
  const [problem, setProblem] = useState<{ text: string; conflict: boolean } | null>(null);
  const [busy, setBusy] = useState(false);
  const change = (part: Partial<Draft>) => {
    setDraft({ ...draft, ...part });
    if (problem?.conflict === true && part.name !== undefined) setProblem(null);
  };
  const send = async (overwrite: boolean) => {
    setBusy(true);
    try {
      await save(draft, before, overwrite);
      showToast(`${draft.name} is ${before === null ? "stored" : "changed"}.`);
      close();
    } catch (cause) {
      setProblem({ text: messageOf(cause), conflict: cause instanceof ApiError && cause.status === 409 });
      setBusy(false);
    }
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const reveals = before?.secret === true && !draft.secret && draft.text === "";
    if (reveals) askToReveal(draft.name, () => send(false));
    else send(false);
  };
  const title = before === null ? "New variable" : before.name;
  return (
    <Dialog label={title} close={close}>
      <form onSubmit={submit}>
        <h2>{title}</h2>
        <Fields {...{ draft, before, change }} />
        {problem !== null && (
          <p class="problem variable-problem" role="alert">
            {problem.text}.
          </p>
        )}
        <div class="row dialog-actions">
          {before !== null && (
            <button type="button" class="button quiet" onClick={() => remove(before.name)}>
              Delete
            </button>
          )}
          <button type="button" class="button push" onClick={close}>
            Close
          </button>
          {problem?.conflict === true && (
            <button type="button" class="button danger" disabled={busy || offline.value} onClick={() => send(true)}>
              Overwrite {draft.name}
            </button>
          )}
          <button type="submit" class="button primary" disabled={busy || offline.value}>
            {before === null ? "Store" : "Change"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** A revealed value cannot be hidden again from those who have seen it. */
function askToReveal(name: string, act: () => void): void {
  askBack({
    title: `Show the value of ${name}?`,
    body: "It is no longer encrypted then, and everybody who can read this server sees it. The server's log says so.",
    confirm: "Show 1 value",
    keep: "Keep it secret",
    act,
  });
}

interface FieldsProps {
  draft: Draft;
  before: VariableRow | null;
  change: (part: Partial<Draft>) => void;
}

function Fields({ draft, before, change }: FieldsProps): JSX.Element {
  const { name, text, secret, tags } = draft;
  const kept = before?.secret === true && text === "";
  const hint = kept
    ? secret
      ? "Empty: the value stays as it is."
      : "Empty: the value that was secret will be shown. A new one replaces it unseen."
    : null;
  return (
    <>
      {before === null && (
        <label class="stacked">
          Name
          <input
            class="field mono"
            type="text"
            value={name}
            required
            autofocus
            autocomplete="off"
            pattern="[a-z0-9][a-z0-9_.\/\-]*"
            title="small letters, digits and _ . / -"
            onInput={(event) => change({ name: event.currentTarget.value })}
          />
          <span class="faint">small letters, digits and _ . / -</span>
        </label>
      )}
      <label class="stacked">
        Value
        <textarea
          class={`field mono ${secret ? "concealed" : ""}`}
          rows={4}
          value={text}
          required={before?.secret !== true}
          autofocus={before !== null}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => change({ text: event.currentTarget.value })}
        />
        <span class="faint">{hint ?? (text === "" ? "Text, or JSON." : `Stored as ${kindOfText(text)}.`)}</span>
      </label>
      <label class="stacked">
        Tags
        <input class="field" type="text" value={tags} onInput={(event) => change({ tags: event.currentTarget.value })} />
      </label>
      <label class="row check variable-secret">
        <input type="checkbox" checked={secret} onChange={(event) => change({ secret: event.currentTarget.checked })} />
        Secret: encrypted at rest, masked
      </label>
    </>
  );
}
