/** The actions of a rule for an event: rendered by the server, nothing is sent. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Event, EventsPage } from "#protocol/records/event";
import type { RuleAction, RuleRow, RuleTest } from "#protocol/records/rule";
import { ask, messageOf, withQuery } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { duration, roughDuration, tickingDuration } from "../../format/duration.ts";
import { now, nowUs } from "../../format/now.ts";
import { clockTime } from "../../format/time.ts";
import { RunNumber, Section, Select } from "../../parts/layout.tsx";
import { param } from "../../router/router.ts";
import { KIND_WORDS } from "./action-fields.tsx";

const EVENTS_LISTED = 200;
const EVENTS_OFFERED = 20;

/** Recent events that the rule matches by name. */
function useChoices(rule: RuleRow): Event[] {
  const events = useQuery<EventsPage>(`/api/events?limit=${EVENTS_LISTED}`).data?.items ?? [];
  const names = rule.when?.events ?? [];
  const named = (name: string) =>
    names.length === 0 || names.some((each) => (each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : name === each));
  return events.filter(({ name }) => !name.startsWith("rule.") && named(name)).slice(0, EVENTS_OFFERED);
}

function choiceText({ id, name, resource, occurred }: Event): string {
  const about = resource.name ?? resource.id;
  return `#${id} ${name}, ${about.length > 40 ? `${about.slice(0, 39)}\u2026` : about}, ${clockTime(occurred)}`;
}

export function RuleTestPanel({ rule, dirty }: { rule: RuleRow; dirty: boolean }): JSX.Element {
  const choices = useChoices(rule);
  const [chosen, setChosen] = useState(() => param("event"));
  const [test, setTest] = useState<RuleTest | null>(null);
  const [problem, setProblem] = useState("");
  const run = async () => {
    try {
      setTest(await ask<RuleTest>(withQuery(`/api/rules/${rule.id}/test`, { event_id: chosen }), { method: "POST" }));
      setProblem("");
    } catch (cause) {
      setProblem(messageOf(cause));
    }
  };
  const listed = choices.map((event) => [String(event.id), choiceText(event)] as const);
  const known = chosen === "" || listed.some(([id]) => id === chosen);
  return (
    <Section title="Test" note="nothing is sent">
      <div class="row rule-test-bar">
        <Select
          label="Event to test with"
          options={[["", "Latest event that matches"], ...(known ? [] : [[chosen, `Event #${chosen}`] as const]), ...listed]}
          chosen={chosen}
          choose={setChosen}
        />
        <button type="button" class="button" onClick={() => void run()}>
          Test
        </button>
      </div>
      {dirty && <p class="hint">The test takes the rule as it is saved, without the changes.</p>}
      {problem !== "" && (
        <p class="problem" role="alert">
          {problem}.
        </p>
      )}
      {test !== null && <Result test={test} rule={rule} />}
    </Section>
  );
}

function Result({ test, rule }: { test: RuleTest; rule: RuleRow }): JSX.Element {
  const event = test.event as unknown as Event | null;
  const rest = rule.last_fired == null ? 0 : rule.last_fired + (rule.cooldown_seconds ?? 0) * 1_000_000 - now.value * 1000;
  return (
    <div role="status" class="rule-test">
      <p>
        <b>{verdictOf(test, rule)}</b>{" "}
        <span class="dim">
          {event !== null && event.id !== 0 && `The event is ${roughDuration(nowUs() - event.occurred)} old.`}
        </span>
      </p>
      {event !== null && (
        <dl class="key-values meta">
          <dt>Event</dt>
          <dd class="mono">
            {event.id === 0 ? (
              event.name
            ) : (
              <a class="underlined" href={`/events?event=${event.id}`}>
                {event.name}
              </a>
            )}
          </dd>
          <dt>About</dt>
          <dd>
            {event.run_id == null ? (
              (event.resource.name ?? event.resource.id)
            ) : (
              <a class="underlined" href={`/runs/${event.run_id}`}>
                <RunNumber id={event.run_id} /> {event.resource.name}
              </a>
            )}
          </dd>
          <dt>Guards</dt>
          <dd>{rest > 0 ? `quiet for another ${tickingDuration(rest)}: it would wait` : "nothing holds it back"}</dd>
          {test.note !== undefined && (
            <>
              <dt>Note</dt>
              <dd>{test.note}</dd>
            </>
          )}
        </dl>
      )}
      {test.actions.map((action, index) => (
        <Rendered key={index} number={index + 1} action={action} />
      ))}
    </div>
  );
}

function verdictOf({ event, matches, note }: RuleTest, rule: RuleRow): string {
  if (event === null) return `Nothing to test with: ${note ?? "no event matches"}.`;
  if (!matches) return "It would not have fired.";
  return rule.enabled ? "It would have fired." : "It would have fired if it were on.";
}

function Rendered({ number, action }: { number: number; action: Readonly<Record<string, unknown>> }): JSX.Element {
  const kind = String(action["kind"]) as RuleAction["kind"];
  const { error, rendered } = action;
  return (
    <>
      <h3>
        {number}. {KIND_WORDS[kind] ?? kind}
        {error === undefined ? ", as rendered" : ""}
      </h3>
      {error === undefined ? (
        <pre class="sunk">{renderedText(rendered as Readonly<Record<string, unknown>>)}</pre>
      ) : (
        <p class="problem">It would fail: {String(error)}.</p>
      )}
    </>
  );
}

/** The set fields of an action; a webhook as its HTTP request. */
function renderedText({ kind, method, url, ...rest }: Readonly<Record<string, unknown>>): string {
  const empty = (value: unknown) => value == null || (typeof value === "object" && Object.keys(value).length === 0);
  const lines = Object.entries(rest)
    .filter(([, value]) => !empty(value))
    .map(([name, value]) => `${name}  ${typeof value === "string" ? value : JSON.stringify(value, null, 2)}`);
  if (kind === "webhook") lines.unshift(`${String(method ?? "POST")} ${String(url)}`);
  return lines.length === 0 ? String(kind) : lines.join("\n");
}

/** For lists of expectations: the remaining time of the total. */
export function leftText(us: number): string {
  return us <= 0 ? "now" : us < 3_600_000_000 ? tickingDuration(us) : duration(us);
}
