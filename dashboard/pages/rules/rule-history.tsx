/** Open expectations of a rule, and its firings. */
import type { JSX } from "preact";
import type { Expectation, RuleFiring, RuleRow } from "#protocol/records/rule";
import { useQuery } from "../../api/query.ts";
import { now } from "../../format/now.ts";
import { count, counted } from "../../format/number.ts";
import { fullTime, shortTime } from "../../format/time.ts";
import { RunNumber, Section } from "../../parts/layout.tsx";
import { Failure, Loading } from "../../parts/notice.tsx";
import { useFlows } from "../../records/flows.ts";
import { Glyph } from "../../state/glyph.tsx";
import { leftText } from "./rule-test.tsx";

const SHOWN = 20;

export function Expectations({ rule }: { rule: RuleRow }): JSX.Element {
  const own = (message: { rule_id: number }) => message.rule_id === rule.id;
  const expectations = useQuery<Expectation[]>(`/api/rules/${rule.id}/expectations?open=false&limit=${SHOWN * 2}`, {
    live: { "expectation.armed": own, "expectation.met": own, "expectation.lapsed": own },
  });
  const open = useQuery<Expectation[]>(`/api/rules/${rule.id}/expectations`, {
    live: { "expectation.armed": own, "expectation.met": own, "expectation.lapsed": own },
  });
  const past = (expectations.data ?? []).filter(({ status }) => status !== "open").slice(0, SHOWN);
  return (
    <Section title="Expectations" note={open.data === null ? undefined : `${count(open.data.length)} open`}>
      {open.error !== null && <Failure what="What it waits for" error={open.error} again={open.refresh} />}
      {open.data?.length === 0 && past.length === 0 && <p class="calm dim">It waits for nothing now, and has not yet.</p>}
      <ul class="rows expectations">
        {open.data?.slice(0, SHOWN).map((each) => (
          <Open key={each.id} expectation={each} />
        ))}
        {past.map((each) => (
          <Past key={each.id} expectation={each} />
        ))}
      </ul>
    </Section>
  );
}

function About({ expectation: { run_id, flow_id, key } }: { expectation: Expectation }): JSX.Element {
  const flows = useFlows().data ?? [];
  if (run_id != null)
    return (
      <a href={`/runs/${run_id}`}>
        run <RunNumber id={run_id} />
      </a>
    );
  const flow = flows.find(({ id }) => id === flow_id);
  if (flow === undefined) return <span class="cut">{key}</span>;
  return (
    <a class="cut" href={`/flows/${flow.id}`}>
      <bdi>{flow.project}</bdi> / <bdi>{flow.name}</bdi>
    </a>
  );
}

function Open({ expectation }: { expectation: Expectation }): JSX.Element {
  const { armed_at, deadline } = expectation;
  const nowUs = now.value * 1000;
  const part = Math.min(1, Math.max(0, (nowUs - armed_at) / Math.max(1, deadline - armed_at)));
  return (
    <li class="s-scheduled" title={`until ${fullTime(deadline)}`}>
      <Glyph name="scheduled" />
      <About expectation={expectation} />
      <span class="meter" aria-hidden="true">
        <i style={{ width: `${part * 100}%` }} />
      </span>
      <time>{leftText(deadline - nowUs)}</time>
    </li>
  );
}

const OUTCOMES = { met: ["completed", "completed"], lapsed: ["lapsed", "late"], cancelled: ["cancelled", "cancelled"] } as const;

function Past({ expectation }: { expectation: Expectation }): JSX.Element {
  const { status, deadline } = expectation;
  const [glyph, hue] = status === "open" ? (["scheduled", "scheduled"] as const) : OUTCOMES[status];
  return (
    <li class={`s-${hue}`}>
      <Glyph name={glyph} />
      <About expectation={expectation} />
      <span class="dim">{status}</span>
      <time title={fullTime(deadline)}>{shortTime(deadline)}</time>
    </li>
  );
}

interface Outcome {
  kind?: string;
  status?: string;
  error?: string;
}

function outcomeText(outcomes: readonly Outcome[]): string {
  const wrong = outcomes.find(({ status }) => status === "failed");
  if (wrong !== undefined) return `${wrong.kind}: ${wrong.error ?? "failed"}`;
  return outcomes.length === 0 ? "under way" : `${counted(outcomes.length, "action")} done`;
}

export function Firings({ rule }: { rule: RuleRow }): JSX.Element {
  const firings = useQuery<RuleFiring[]>(`/api/rules/${rule.id}/firings`, {
    live: { "rule.updated": ({ id }) => id === rule.id },
  });
  return (
    <Section title="Firings" note={firings.data?.length ? `${count(rule.fire_count)} in all, newest first` : undefined}>
      {firings.error !== null && <Failure what="Its firings" error={firings.error} again={firings.refresh} />}
      {firings.data === null && firings.error === null && <Loading rows={3} />}
      {firings.data?.length === 0 && <p class="calm dim">It has not fired yet.</p>}
      <ul class="rows firings">
        {firings.data?.slice(0, SHOWN).map((firing) => (
          <FiringRow key={firing.id} firing={firing} />
        ))}
      </ul>
    </Section>
  );
}

function FiringRow({ firing: { timestamp, outcomes, run_id, event_id } }: { firing: RuleFiring }): JSX.Element {
  const text = outcomeText(outcomes as readonly Outcome[]);
  const failed = outcomes.some((outcome) => outcome["status"] === "failed");
  const look = failed ? "failed" : outcomes.length === 0 ? "pending" : "completed";
  return (
    <li class={`s-${look}`}>
      <Glyph name={look} />
      <time class="dim" title={fullTime(timestamp)}>
        {shortTime(timestamp)}
      </time>
      {run_id != null ? (
        <a href={`/runs/${run_id}`}>
          <RunNumber id={run_id} />
        </a>
      ) : (
        <a href={`/events?event=${event_id}`}>event {event_id}</a>
      )}
      <span class="cut meta dim" title={text}>
        {text}
      </span>
    </li>
  );
}
