/** Creates or edits a rule, as a form or as JSON. Errors of the server are shown at their field. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { RuleBody, RuleRow } from "#protocol/records/rule";
import type { Vocabulary } from "#protocol/vocabulary";
import { ask } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { offline } from "../../live/link.ts";
import { Segments } from "../../parts/layout.tsx";
import { showToast } from "../../parts/toast.tsx";
import { useFlows } from "../../records/flows.ts";
import { param, setParams } from "../../router/router.ts";
import { ActionFields } from "./action-fields.tsx";
import { MatchFields, type Offered } from "./match-fields.tsx";
import { bodyFromJson, bodyOf, draftOf, jsonOf, type RuleDraft } from "./rule-draft.ts";
import { NO_PROBLEM, problemOf, type RuleProblem } from "./rule-problem.ts";

interface RuleFormProps {
  /** The stored rule, or the initial values of a new one. */
  rule: RuleBody | RuleRow;
  saved: (rule: RuleRow) => void;
  close?: () => void;
  /** Called when unsaved changes appear or are gone. */
  changed?: (changed: boolean) => void;
}

type View = "form" | "json";

/** The input in either view, and its errors. */
function useEditor({ rule, changed }: RuleFormProps) {
  const [draft, setDraft] = useState<RuleDraft>(() => draftOf(rule));
  const view: View = param("view") === "json" ? "json" : "form";
  const [json, setJson] = useState(() => jsonOf(bodyOf(draft)));
  const [problem, setProblem] = useState<RuleProblem>(NO_PROBLEM);
  const [dirty, setDirty] = useState(false);
  const touch = (is: boolean) => {
    setDirty(is);
    changed?.(is);
  };
  /** Runs an action that may find an error in the draft; false if it did. */
  const attempt = (act: () => void): void => {
    try {
      act();
      setProblem(NO_PROBLEM);
    } catch (cause) {
      setProblem(problemOf(cause));
    }
  };
  return {
    ...{ draft, view, json, problem, dirty, setProblem },
    body: () => (view === "json" ? bodyFromJson(json) : bodyOf(draft)),
    change: (part: Partial<RuleDraft>) => {
      setDraft({ ...draft, ...part });
      touch(true);
    },
    write: (text: string) => {
      setJson(text);
      touch(true);
    },
    show: (next: View) =>
      attempt(() => {
        if (next === "json") setJson(jsonOf(bodyOf(draft)));
        else setDraft(draftOf(bodyFromJson(json)));
        setParams({ view: next === "json" ? next : null });
      }),
    reset: (to: RuleBody | RuleRow) => {
      setDraft(draftOf(to));
      setJson(jsonOf(bodyOf(draftOf(to))));
      setProblem(NO_PROBLEM);
      touch(false);
    },
  };
}

export function RuleForm(props: RuleFormProps): JSX.Element {
  const { rule, saved, close } = props;
  const editor = useEditor(props);
  const { draft, view, json, problem, dirty, change } = editor;
  const stored = "id" in rule ? rule : null;
  const readOnly = stored?.source === "code";
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    try {
      const path = stored === null ? "/api/rules" : `/api/rules/${stored.id}`;
      const made = await ask<RuleRow>(path, { method: stored === null ? "POST" : "PATCH", body: editor.body() });
      showToast(stored === null ? `Rule made: ${made.name}.` : `Rule changed: ${made.name}.`);
      editor.reset(made);
      saved(made);
    } catch (cause) {
      editor.setProblem(problemOf(cause));
    }
  };
  const discard = () => (stored === null ? close?.() : editor.reset(stored));
  return (
    <form class="rule-form" onSubmit={save} noValidate>
      <div class="row rule-form-head">
        {dirty && <span class="meta faint">unsaved changes</span>}
        <span class="push">
          <Segments
            label="View of the rule"
            options={[
              ["form", "Form"],
              ["json", "JSON"],
            ]}
            chosen={view}
            choose={editor.show}
          />
        </span>
      </div>
      <fieldset disabled={readOnly}>
        <legend class="sr">The rule</legend>
        {view === "json" ? (
          <textarea
            class={`field mono rule-json ${problem.field === "json" ? "wrong" : ""}`}
            aria-label="The rule as JSON"
            rows={24}
            spellcheck={false}
            value={json}
            onInput={(event) => editor.write(event.currentTarget.value)}
          />
        ) : (
          <Clauses draft={draft} change={change} problem={problem} />
        )}
      </fieldset>
      <Outside problem={problem} view={view} />
      {readOnly ? (
        <p class="hint">Declared in code: it is changed there. Only the switch works here.</p>
      ) : (
        <div class="row rule-actions">
          <button type="submit" class="button primary" disabled={(!dirty && stored !== null) || offline.value}>
            {stored === null ? "Make rule" : "Save"}
          </button>
          <button type="button" class="button quiet" disabled={(!dirty && stored !== null) || offline.value} onClick={discard}>
            {stored === null ? "Close" : "Discard"}
          </button>
          {problem.text !== "" && <span class="push problem">1 field needs a change</span>}
        </div>
      )}
    </form>
  );
}

const SHOWN_AT_FIELD = /^(?:name|when|unless|within|at|do(?:\.\d+)?|cooldown_seconds|max_per_minute)$/;

/** Errors of no visible field. */
function Outside({ problem, view }: { problem: RuleProblem; view: View }): JSX.Element | null {
  if (problem.text === "" || (view === "form" && SHOWN_AT_FIELD.test(problem.field))) return null;
  const place = view === "json" && problem.field !== "json" && problem.field !== "" ? `${problem.field}: ` : "";
  return (
    <p class="problem" role="alert">
      {place}
      {problem.text}.
    </p>
  );
}

interface ClausesProps {
  draft: RuleDraft;
  change: (part: Partial<RuleDraft>) => void;
  problem: RuleProblem;
}

function Clauses({ draft, change, problem }: ClausesProps): JSX.Element {
  const flows = useFlows().data ?? [];
  const vocabulary = useQuery<Vocabulary>("/api/vocabulary").data;
  const offered: Offered = { vocabulary, flows };
  const at = (field: string) => problem.field === field && problem.text !== "";
  const swapped = (names: string[]) => names.map((name) => (name === problem.swap?.wrong ? problem.swap.right : name));
  const swap = (field: "when" | "unless") => () => {
    const match = draft[field];
    change({ [field]: { ...match, events: swapped(match.events), states: swapped(match.states) } });
  };
  return (
    <>
      <Clause name="Name">
        <input
          class={`field ${at("name") ? "wrong" : ""}`}
          type="text"
          aria-label="Name"
          value={draft.name}
          onInput={(event) => change({ name: event.currentTarget.value })}
        />
        <At problem={problem} field="name" />
      </Clause>
      <When {...{ draft, change, offered, problem, at }} swap={swap("when")} />
      <Unless {...{ draft, change, offered, problem, at }} swap={swap("unless")} />
      <Clause name="Do">
        <ActionFields actions={draft.actions} change={(actions) => change({ actions })} offered={offered} problem={problem} />
        <At problem={problem} field="do" />
      </Clause>
      <Clause name="Guards">
        <Guards {...{ draft, change, problem, at }} />
      </Clause>
    </>
  );
}

function Clause({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <fieldset class="clause">
      <legend class="sr">{name}</legend>
      <b aria-hidden="true">{name}</b>
      <div>{children}</div>
    </fieldset>
  );
}

/** The error at a field, and the name that was probably meant. */
function At({ problem, field, swap }: { problem: RuleProblem; field: string; swap?: () => void }): JSX.Element | null {
  if (problem.field !== field || problem.text === "") return null;
  return (
    <p class="problem" role="alert">
      {problem.text}
      {/[.?]$/.test(problem.text) ? "" : "."}{" "}
      {problem.swap !== null && swap !== undefined && (
        <button type="button" class="button small" onClick={swap}>
          Use {problem.swap.right}
        </button>
      )}
    </p>
  );
}

interface PartProps extends ClausesProps {
  offered: Offered;
  at: (field: string) => boolean;
  swap: () => void;
}

function When({ draft, change, offered, problem, at, swap }: PartProps): JSX.Element {
  return (
    <Clause name="When">
      <Segments
        label="What arms the rule"
        options={[
          ["event", "An event comes"],
          ["clock", "A clock strikes"],
        ]}
        chosen={draft.armed}
        choose={(armed) => change({ armed })}
      />
      {draft.armed === "clock" && (
        <div class="row wrap">
          <label class="row">
            <span class="dim">cron</span>
            <input
              class={`field mono ${at("at") ? "wrong" : ""}`}
              type="text"
              value={draft.cron}
              onInput={(event) => change({ cron: event.currentTarget.value })}
            />
          </label>
          <label class="row">
            <span class="dim">zone</span>
            <input
              class="field"
              type="text"
              placeholder="of the server"
              value={draft.tz}
              onInput={(event) => change({ tz: event.currentTarget.value })}
            />
          </label>
        </div>
      )}
      <At problem={problem} field="at" />
      {draft.armed === "event" && (
        <MatchFields
          clause="When"
          match={draft.when}
          change={(when) => change({ when })}
          offered={offered}
          wrong={at("when") ? problem.list : ""}
        />
      )}
      <At problem={problem} field="when" swap={swap} />
    </Clause>
  );
}

function Unless({ draft, change, offered, problem, at, swap }: PartProps): JSX.Element {
  const clock = draft.armed === "clock";
  const expects = draft.expects || clock;
  return (
    <Clause name="Unless">
      <label class="row check">
        <input
          type="checkbox"
          checked={expects}
          disabled={clock}
          onChange={(event) => change({ expects: event.currentTarget.checked })}
        />
        {clock ? "Fires when this did not come before" : "Fires only when something stays away that was expected"}
      </label>
      {expects && (
        <>
          <MatchFields
            clause="Unless"
            match={draft.unless}
            change={(unless) => change({ unless })}
            offered={offered}
            wrong={at("unless") ? problem.list : ""}
          />
          <label class="row">
            <span class="dim">{clock ? "in the last" : "within"}</span>
            <input
              class={`field short ${at("within") ? "wrong" : ""}`}
              type="text"
              placeholder={clock ? "since last" : "45 min"}
              value={draft.within}
              onInput={(event) => change({ within: event.currentTarget.value })}
            />
          </label>
        </>
      )}
      <At problem={problem} field="unless" swap={swap} />
      <At problem={problem} field="within" />
    </Clause>
  );
}

function Guards({ draft, change, problem, at }: ClausesProps & { at: (field: string) => boolean }): JSX.Element {
  const check = (field: "once" | "allowSelf", text: string) => (
    <label class="row check">
      <input type="checkbox" checked={draft[field]} onChange={(event) => change({ [field]: event.currentTarget.checked })} />
      {text}
    </label>
  );
  const short = (field: "cooldown" | "perMinute", of: string, label: string, placeholder: string) => (
    <input
      class={`field short ${at(of) ? "wrong" : ""}`}
      type="text"
      aria-label={label}
      aria-invalid={at(of)}
      placeholder={placeholder}
      value={draft[field]}
      onInput={(event) => change({ [field]: event.currentTarget.value })}
    />
  );
  return (
    <>
      <div class="row wrap guards">
        {check("once", "Once per run")}
        <span class="row">
          <span class="dim">Quiet for</span>
          {short("cooldown", "cooldown_seconds", "Quiet for", "30 min")}
        </span>
        <span class="row">
          <span class="dim">At most</span>
          {short("perMinute", "max_per_minute", "At most per minute", "60")}
          <span class="dim">per minute</span>
        </span>
        {check("allowSelf", "Also on runs that it made")}
      </div>
      <At problem={problem} field="cooldown_seconds" />
      <At problem={problem} field="max_per_minute" />
    </>
  );
}
