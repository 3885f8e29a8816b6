/** The actions of a rule in order: add, move and remove them, each with the fields of its kind. */
import type { JSX } from "preact";
import type { ActionKind } from "#protocol/records/rule";
import { Select } from "../../parts/layout.tsx";
import { TokenField } from "../../parts/token-field.tsx";
import { Glyph } from "../../state/glyph.tsx";
import type { Offered } from "./match-fields.tsx";
import { type ActionDraft, FIELDS_OF, newAction } from "./rule-draft.ts";
import type { RuleProblem } from "./rule-problem.ts";

export const KIND_WORDS: Readonly<Record<ActionKind, string>> = {
  run_flow: "Run a flow",
  cancel_run: "Cancel the run",
  set_state: "Set the state of the run",
  pause_schedule: "Pause schedules",
  resume_schedule: "Resume schedules",
  webhook: "Webhook",
  email: "Mail",
  call: "Call a function",
};

const KIND_HINTS: Partial<Record<ActionKind, string>> = {
  webhook: "3 attempts, backs off",
  cancel_run: "the run that the event is about",
  call: "only rules in code",
};

/** Kinds that a rule created here may have. */
const OFFERED = (Object.keys(KIND_WORDS) as ActionKind[]).filter((kind) => kind !== "call");

interface ActionsProps {
  actions: readonly ActionDraft[];
  change: (actions: ActionDraft[]) => void;
  offered: Offered;
  problem: RuleProblem;
}

export function ActionFields({ actions, change, offered, problem }: ActionsProps): JSX.Element {
  const replace = (at: number, action: ActionDraft) => change(actions.map((each, index) => (index === at ? action : each)));
  const remove = (at: number) => change(actions.filter((_, index) => index !== at));
  const raise = (at: number) => {
    const moved = [...actions];
    moved.splice(at - 1, 0, ...moved.splice(at, 1));
    change(moved);
  };
  return (
    <ol class="rule-does">
      {actions.map((action, index) => (
        <li key={action.key} class="action">
          <div class="row action-head">
            <b>
              {index + 1}. {KIND_WORDS[action.kind] ?? action.kind}
            </b>
            <span class="meta faint cut">{KIND_HINTS[action.kind]}</span>
            <span class="push row">
              {index > 0 && (
                <button type="button" class="button small quiet" onClick={() => raise(index)}>
                  <Glyph name="up" size={12} />
                  <span class="sr">Move action {index + 1} </span>up
                </button>
              )}
              <button type="button" class="button small quiet" onClick={() => remove(index)}>
                Remove<span class="sr"> action {index + 1}</span>
              </button>
            </span>
          </div>
          <Fields number={index + 1} action={action} change={(next) => replace(index, next)} offered={offered} />
          {problem.field === `do.${index}` && (
            <p class="problem" role="alert">
              {problem.text}.
            </p>
          )}
        </li>
      ))}
      <li>
        <select
          class="field select"
          aria-label="Add an action"
          value=""
          onChange={(event) => {
            const kind = event.currentTarget.value as ActionKind;
            event.currentTarget.value = "";
            change([...actions, newAction(kind)]);
          }}
        >
          <option value="" disabled hidden>
            {"Add an action\u2026"}
          </option>
          {OFFERED.map((kind) => (
            <option key={kind} value={kind}>
              {KIND_WORDS[kind]}
            </option>
          ))}
        </select>
      </li>
    </ol>
  );
}

const HINTS: Partial<Record<keyof ActionDraft, string>> = {
  flow: "name, or project/name",
  parameters: "JSON object; texts are templates",
  message: "a template",
  schedule_id: "empty: all of the flow",
  url: "https://host/path; a template",
  headers: "JSON object; values are templates",
  body: "JSON or text, a template: {{ run.name }}, {{ event.payload.message }}. Empty sends the event",
  subject: "a template",
  callable: "name of the function",
};

const LABELS: Partial<Record<keyof ActionDraft, string>> = {
  ...{ flow: "Flow", parameters: "Parameters", state_type: "State", message: "Message", schedule_id: "Schedule", url: "Address" },
  ...{ method: "Method", headers: "Headers", body: "Body", to: "To", subject: "Subject", callable: "Function" },
};

const LONG: ReadonlySet<keyof ActionDraft> = new Set(["parameters", "headers", "body"]);
const METHODS = ["POST", "PUT", "PATCH", "GET", "DELETE"].map((name) => [name, name] as const);

interface FieldsProps {
  number: number;
  action: ActionDraft;
  change: (action: ActionDraft) => void;
  offered: Offered;
}

function Fields(props: FieldsProps): JSX.Element | null {
  const fields = FIELDS_OF[props.action.kind] ?? [];
  if (fields.length === 0) return null;
  return (
    <div class={`action-fields ${props.action.kind}`}>
      {fields.map((field) => (
        <Field key={field} field={field} {...props} />
      ))}
      <datalist id="rule-flows">
        {props.offered.flows.map(({ id, project, name }) => (
          <option key={id} value={`${project}/${name}`} />
        ))}
      </datalist>
    </div>
  );
}

function Field({ field, number, action, change, offered }: FieldsProps & { field: keyof ActionDraft }): JSX.Element {
  const label = LABELS[field] ?? field;
  const named = `Action ${number}: ${label.toLowerCase()}`;
  const set = (value: string | string[]) => change({ ...action, [field]: value });
  return (
    <div class={`stacked ${LONG.has(field) ? "long" : ""}`}>
      <span aria-hidden="true">
        {label} <span class="faint">{HINTS[field]}</span>
      </span>
      <Control {...{ field, named, set, action, offered }} />
    </div>
  );
}

interface ControlProps {
  field: keyof ActionDraft;
  named: string;
  action: ActionDraft;
  set: (value: string | string[]) => void;
  offered: Offered;
}

function Control({ field, named, action, set, offered }: ControlProps): JSX.Element {
  if (field === "to") return <TokenField label={named} tokens={action.to} change={set} placeholder="name@host" />;
  if (field === "method")
    return <Select label={named} options={METHODS} chosen={action.method === "" ? "POST" : action.method} choose={set} />;
  if (field === "state_type") {
    const states = (offered.vocabulary?.states ?? []).map(({ name }) => [name, name] as const);
    return <Select label={named} options={[["", "choose one"], ...states]} chosen={action.state_type} choose={set} />;
  }
  const common = {
    "aria-label": named,
    value: String(action[field]),
    onInput: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value),
  };
  if (LONG.has(field)) return <textarea class="field mono" rows={rowsOf(common.value)} spellcheck={false} {...common} />;
  const list = field === "flow" ? { list: "rule-flows" } : {};
  return <input class={`field ${field === "url" ? "mono" : ""}`} type="text" autocomplete="off" {...list} {...common} />;
}

const ROWS_MAX = 12;

function rowsOf(text: string): number {
  return text === "" ? 1 : Math.min(ROWS_MAX, text.split("\n").length);
}
