/** All rules: condition, actions, and recent problems of each. New rules are created here. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Event, EventsPage } from "#protocol/records/event";
import type { RuleBody, RuleRow } from "#protocol/records/rule";
import { withQuery } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { roughDuration } from "../../format/duration.ts";
import { now, nowUs } from "../../format/now.ts";
import { count } from "../../format/number.ts";
import { fullTime, shortTime } from "../../format/time.ts";
import { useKeys } from "../../input/keys.ts";
import { Key, PageTitle, Section } from "../../parts/layout.tsx";
import { Empty, Failure, Loading } from "../../parts/notice.tsx";
import { Switch } from "../../parts/switch.tsx";
import { type Column, Table, TIME_WIDTH } from "../../parts/table/table.tsx";
import { navigate, param, setParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";
import { leavingRules, setEnabled } from "./rule-actions.ts";
import { EMPTY_RULE } from "./rule-draft.ts";
import { RuleForm } from "./rule-form.tsx";
import { doText, whenText } from "./rule-words.ts";
import "./rules.css";
import { offline } from "../../live/link.ts";

const MINUTE_MS = 60_000;
const DAY_US = 86_400_000_000;
const EVENTS_LISTED = 200;

interface ListedRule {
  rule: RuleRow;
  /** The newest problem of the last day: a failure of the rule, or an event it noticed as missing. */
  trouble: Event | null;
}

/** Problems of the last day, newest first, by rule. */
function useTroubles(): ReadonlyMap<number, Event> {
  const after = Math.floor(now.value / MINUTE_MS) * MINUTE_MS * 1000 - DAY_US;
  const path = (name: string) => withQuery("/api/events", { name, after, limit: EVENTS_LISTED });
  const failed = useQuery<EventsPage>(path("rule.action.failed"), { live: { "rule.updated": true } }).data;
  const lapsed = useQuery<EventsPage>(path("expectation.lapsed"), { live: { "expectation.lapsed": true } }).data;
  const found = new Map<number, Event>();
  for (const event of [...(failed?.items ?? []), ...(lapsed?.items ?? [])]) {
    const id = Number(event.payload?.["rule_id"]);
    if ((found.get(id)?.id ?? 0) < event.id) found.set(id, event);
  }
  return found;
}

function Trouble({ row: { rule, trouble } }: { row: ListedRule }): JSX.Element {
  if (trouble !== null) {
    const age = roughDuration(nowUs() - trouble.occurred);
    const lapsed = trouble.name === "expectation.lapsed";
    const text = lapsed ? `lapsed ${age} ago` : `action failed ${age} ago`;
    return (
      <a
        class={`row rule-trouble ${lapsed ? "s-late" : "s-failed"}`}
        href={`/events?event=${trouble.id}`}
        title={String(trouble.payload?.["error"] ?? text)}
      >
        <Glyph name={lapsed ? "lapsed" : "failed"} />
        <span class="cut">{text}</span>
      </a>
    );
  }
  if (!rule.enabled) return <span class="faint">off</span>;
  return <span class="faint">{rule.source === "code" ? "from code" : ""}</span>;
}

function text(value: string) {
  return (
    <span class="cut dim" title={value}>
      {value}
    </span>
  );
}

const COLUMNS: readonly Column<ListedRule>[] = [
  {
    id: "on",
    head: "On",
    width: "44px",
    narrow: "end",
    cell: ({ rule }) => (
      <Switch
        label={`${rule.name} fires`}
        on={rule.enabled}
        disabled={offline.value}
        change={(on) => void setEnabled(rule, on)}
      />
    ),
  },
  {
    id: "name",
    head: "Rule",
    width: "19%",
    narrow: "start",
    cell: ({ rule }) => (
      <a class="row-link row" href={`/rules/${rule.id}`} title={rule.name}>
        <span class="cut name">{rule.name}</span>
        {rule.source === "code" && <Glyph name="lock" size={12} />}
      </a>
    ),
  },
  { id: "when", head: "When", narrow: "line", cell: ({ rule }) => text(whenText(rule)) },
  { id: "do", head: "Does", width: "20%", narrow: "line", cell: ({ rule }) => text(doText(rule)) },
  {
    id: "last",
    head: "Last fired",
    width: TIME_WIDTH,
    align: "right",
    medium: false,
    cell: ({ rule }) =>
      rule.last_fired == null ? (
        <span class="faint">never</span>
      ) : (
        <time title={fullTime(rule.last_fired)}>{shortTime(rule.last_fired)}</time>
      ),
  },
  { id: "count", head: "Fired", width: "64px", align: "right", medium: false, cell: ({ rule }) => count(rule.fire_count) },
  { id: "trouble", head: "Last 24 hours", width: "176px", narrow: "line", cell: (row) => <Trouble row={row} /> },
];

export function Page(): JSX.Element {
  const rules = useQuery<RuleRow[]>("/api/rules", { live: { "rule.updated": true } });
  const troubles = useTroubles();
  const cursor = useSignal<number | string | null>(null);
  const shown = (rules.data ?? []).filter(({ id }) => !leavingRules.value.has(id));
  const rows = shown.map((rule) => ({ rule, trouble: troubles.get(rule.id) ?? null }));
  const start = () => setParams({ new: "rule" });
  useKeys([{ keys: "n", does: "new rule", run: start }], { group: "Rules" });
  return (
    <>
      <PageTitle
        title="Rules"
        beside={rules.data !== null && <span class="faint">{count(shown.length)}</span>}
        actions={
          <button type="button" class="button primary" onClick={start}>
            {"New rule\u2026"} <Key name="n" />
          </button>
        }
      />
      <p class="sub">A rule does something when an event comes, or when one that is expected stays away.</p>
      {param("new") !== "" && (
        <Section title="New rule">
          <RuleForm
            rule={startOf(param("event"))}
            saved={(made) => navigate(`/rules/${made.id}`)}
            close={() => setParams({ new: null, event: null })}
          />
        </Section>
      )}
      {rules.error !== null && <Failure what="The rules" error={rules.error} again={rules.refresh} />}
      {rules.data === null && rules.error === null && <Loading rows={6} />}
      {rules.data !== null && shown.length === 0 && param("new") === "" && (
        <Empty title="No rules yet">
          <p>
            Code declares rules, or they are made here: run a flow when another failed, tell a chat when a backup did not come.
          </p>
          <p>
            <button type="button" class="button" onClick={start}>
              {"New rule\u2026"}
            </button>
          </p>
        </Empty>
      )}
      {shown.length > 0 && (
        <div class="section">
          <Table
            label="Rules"
            columns={COLUMNS}
            rows={rows}
            keyOf={({ rule }) => rule.id}
            href={({ rule }) => `/rules/${rule.id}`}
            total={rows.length}
            cursor={cursor}
          />
        </div>
      )}
    </>
  );
}

/** The initial values of a new rule: the name of an event, if it is created from one. */
function startOf(event: string): RuleBody {
  return event === "" ? EMPTY_RULE : { ...EMPTY_RULE, name: `When ${event}`, when: { events: [event] } };
}
