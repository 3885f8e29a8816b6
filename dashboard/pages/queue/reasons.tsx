/** Why runs wait, counted by the server over the whole queue. A reason is a filter of the table below. */
import type { JSX } from "preact";
import type { Queue, QueueReason } from "#protocol/records/queue";
import { tickingDuration } from "../../format/duration.ts";
import { now } from "../../format/now.ts";
import { count } from "../../format/number.ts";
import { plannedTime } from "../../format/time.ts";
import { resourceWords } from "../../records/why.ts";
import { param, withParams } from "../../router/router.ts";
import { Glyph } from "../../state/glyph.tsx";

/** A reason in the address. */
export function reasonKey({ code, object, retries = false }: { code: string; object: string | null; retries?: boolean }): string {
  return [code, ...(object === null ? [] : [object]), ...(retries ? ["retry"] : [])].join(" ");
}

/** The glyph, and the state whose colour is used. */
function lookOfReason({ code, retries }: QueueReason): readonly [glyph: string, hue: string] {
  if (retries) return ["awaiting-retry", "awaiting-retry"];
  if (code === "resource") return ["awaiting-resource", "awaiting-resource"];
  if (code === "no_engine_for_module" || code === "engine_start_failed") return ["lapsed", "late"];
  return code === "not_due" || code === "held" ? ["scheduled", "scheduled"] : ["pending", "pending"];
}

function Text({ reason, queue }: { reason: QueueReason; queue: Queue }): JSX.Element {
  const { code, object, text, retries, due } = reason;
  if (code === "resource") {
    const held = queue.resources.find(({ name }) => name === object);
    return (
      <>
        <b>{resourceWords(object ?? "")}</b>
        {held === undefined ? " is taken" : `, ${held.used} of ${held.total} taken`}
      </>
    );
  }
  if (code === "not_due") {
    const nowUs = now.value * 1000;
    const when =
      due === null ? "" : due - nowUs < 3_600_000_000 ? `in ${tickingDuration(due - nowUs)}` : `at ${plannedTime(due)}`;
    return (
      <>
        {retries ? "the next attempt" : "their time"}
        {when !== "" && <span class="dim">, the first {when}</span>}
      </>
    );
  }
  if (code === "no_engine_for_module")
    return (
      <>
        an engine for <b>{object}</b>; none polls for it
      </>
    );
  if (code === "no_engine" || code === "no_engine_slot")
    return (
      <>
        a free <b>engine</b> for {object}
        {code === "no_engine_slot" && <span class="dim">, the pool is full</span>}
      </>
    );
  return <>{text}</>;
}

/** Reasons that hold up due runs first; waiting for the own time last. */
function inOrder(reasons: readonly QueueReason[]): QueueReason[] {
  return reasons.toSorted((a, b) => Number(a.code === "not_due") - Number(b.code === "not_due") || b.count - a.count);
}

export function Reasons({ queue }: { queue: Queue }): JSX.Element {
  const reasons = inOrder(queue.reasons);
  if (reasons.length === 0) return <p class="calm dim">Nothing waits.</p>;
  const most = Math.max(...reasons.map((reason) => reason.count));
  const chosen = param("why");
  return (
    <ul class="rows reasons">
      {reasons.map((reason) => {
        const key = reasonKey(reason);
        const [glyph, hue] = lookOfReason(reason);
        return (
          <li key={key} class={`s-${hue}`}>
            <Glyph name={glyph} />
            <span class="num strong">{count(reason.count)}</span>
            <a
              class="cut"
              title={reason.text}
              href={withParams({ why: chosen === key ? null : key })}
              aria-current={chosen === key ? "true" : undefined}
            >
              <Text reason={reason} queue={queue} />
            </a>
            <span class={`reason-bar ${reason.code === "not_due" ? "planned" : ""}`} aria-hidden="true">
              <i style={{ width: `${(reason.count / most) * 100}%` }} />
            </span>
          </li>
        );
      })}
    </ul>
  );
}
