/** The settings that can be changed while the server runs. They are stored in the server's configuration. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Settings, SettingsPatch } from "#protocol/records/server";
import { ask, messageOf } from "../../api/client.ts";
import { offline } from "../../live/link.ts";
import { Section } from "../../parts/layout.tsx";
import { showToast } from "../../parts/toast.tsx";
import { resourceWords } from "../../records/why.ts";

/** Texts by field: "retain_days", "crash_retries", "resource NAME". A missing field has the server's value. */
type Texts = Readonly<Record<string, string>>;

const PREFIX = "resource ";

function numberIn(text: string): number | string {
  return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
}

/** The patch from the texts; text that is not a number is sent unchanged, and the server answers what it expects. */
function patchOf(texts: Texts, fresh: { name: string; total: string }): SettingsPatch {
  const patch: Record<string, unknown> = {};
  const resources: Record<string, unknown> = {};
  for (const [field, text] of Object.entries(texts))
    if (field.startsWith(PREFIX)) resources[field.slice(PREFIX.length)] = numberIn(text);
    else patch[field] = numberIn(text);
  if (fresh.name.trim() !== "") resources[fresh.name.trim()] = numberIn(fresh.total);
  return (Object.keys(resources).length === 0 ? patch : { ...patch, resources }) as SettingsPatch;
}

const NOTHING = { name: "", total: "1" };

export function Changeable({ settings, changed }: { settings: Settings; changed: () => void }): JSX.Element {
  const [texts, setTexts] = useState<Texts>({});
  const [fresh, setFresh] = useState(NOTHING);
  const [problem, setProblem] = useState("");
  const dirty = Object.keys(texts).length > 0 || fresh.name !== "";
  const reset = () => {
    setTexts({});
    setFresh(NOTHING);
    setProblem("");
  };
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    try {
      await ask<Settings>("/api/settings", { method: "PATCH", body: patchOf(texts, fresh) });
      reset();
      showToast("Settings changed.");
      changed();
    } catch (cause) {
      setProblem(messageOf(cause));
    }
  };
  const field = (name: string, kept: number) => ({
    value: texts[name] ?? String(kept),
    wrong: problem !== "" && problem.includes(name.replace(PREFIX, "")),
    change: (text: string) => {
      const { [name]: _former, ...others } = texts;
      setTexts(text === String(kept) ? others : { ...others, [name]: text });
    },
  });
  // Resources of flows and backfills are derived from their limits.
  const named = Object.entries(settings.resources).filter(([name]) => resourceWords(name) === name);
  return (
    <Section title="What can be changed" note="holds after a restart, too">
      <form onSubmit={save} noValidate>
        <ul class="rows settings-fields">
          <NumberRow label="Keep history for" unit="days; 0 keeps it for good" {...field("retain_days", settings.retain_days)} />
          <NumberRow
            label="Run again after a crash"
            unit="times, unless a flow says otherwise"
            {...field("crash_retries", settings.crash_retries_default)}
          />
          {named.map(([name, { total, used }]) => (
            <NumberRow key={name} label={name} unit={`units, ${used} in use`} {...field(PREFIX + name, total)} />
          ))}
          <NewResource fresh={fresh} change={setFresh} />
        </ul>
        {problem !== "" && (
          <p class="problem" role="alert">
            {problem}.
          </p>
        )}
        <div class="row settings-actions">
          <button type="submit" class="button primary" disabled={!dirty || offline.value}>
            Save
          </button>
          <button type="button" class="button quiet" disabled={!dirty} onClick={reset}>
            Discard
          </button>
        </div>
      </form>
    </Section>
  );
}

function NewResource({ fresh, change }: { fresh: typeof NOTHING; change: (fresh: typeof NOTHING) => void }): JSX.Element {
  return (
    <li>
      <input
        class="field"
        type="text"
        aria-label="Name of a new resource"
        placeholder="new resource"
        value={fresh.name}
        onInput={(event) => change({ ...fresh, name: event.currentTarget.value })}
      />
      <input
        class="field number"
        type="text"
        inputMode="decimal"
        aria-label="Units of the new resource"
        value={fresh.total}
        onInput={(event) => change({ ...fresh, total: event.currentTarget.value })}
      />
      <span class="faint">units</span>
    </li>
  );
}

interface NumberRowProps {
  label: string;
  unit: string;
  value: string;
  wrong: boolean;
  change: (text: string) => void;
}

function NumberRow({ label, unit, value, wrong, change }: NumberRowProps): JSX.Element {
  return (
    <li>
      <span class="cut" aria-hidden="true" title={label}>
        {label}
      </span>
      <input
        class={`field number ${wrong ? "wrong" : ""}`}
        type="text"
        inputMode="decimal"
        aria-label={label}
        aria-invalid={wrong}
        value={value}
        onInput={(event) => change(event.currentTarget.value)}
      />
      <span class="faint">{unit}</span>
    </li>
  );
}
