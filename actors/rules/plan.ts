/**
 * The actions of the rules that a step makes fire. Reader threads fill in the texts that have expressions; the other actions
 * are ready at once.
 */
import { parseJson } from "#protocol/json";
import type { FullAction, FullSpec } from "#protocol/rule-spec";
import type { SeenEvent } from "#storage/load-events";
import type { ActionOfEvent, RenderedAction } from "#storage/queries/rendered-actions";
import { isTemplate } from "#storage/templates/parse";
import type { PlannedAction } from "./messages.ts";

/** Texts of actions in one question to a reader, as JSON. */
const QUESTION_LENGTH_MAX = 1_000_000;
/** How often a reader is asked that did not finish; an action is tried with others first, then alone. */
export const TRIES_MAX = 2;

interface OpenAction {
  event: number;
  index: number;
  kind: FullAction["kind"];
  text: string;
  /** Where it belongs. */
  into: PlannedAction[];
}

/** The text of an action with something to fill in, null of one without. */
const texts = new WeakMap<FullAction, { text: string | null }>();

function textToRender(action: FullAction): string | null {
  const known = texts.get(action);
  if (known !== undefined) return known.text;
  const fields = [action.url, action.message, action.subject, action.parameters, action.headers, action.body];
  // Mail without a subject or body of its own gets one about the event; functions are called with records.
  const isUnfinished = action.kind === "call" || (action.kind === "email" && (action.subject === null || action.body === null));
  const text = isUnfinished || isTemplate(JSON.stringify(fields)) ? JSON.stringify(action) : null;
  texts.set(action, { text });
  return text;
}

export class ActionPlan {
  #open: OpenAction[] = [];
  #tries = 0;

  /** The actions of a rule for an event, complete once nothing is open any more. */
  add(spec: FullSpec, event: SeenEvent): PlannedAction[] {
    const planned: PlannedAction[] = [];
    for (const [index, action] of spec.do.entries()) {
      const text = textToRender(action);
      if (text !== null) this.#open.push({ event: event.id, index, kind: action.kind, text, into: planned });
      else planned[index] = { index, kind: action.kind, action: withBody(action, event) };
    }
    return planned;
  }

  /** What a reader is to be asked next; empty when everything is there. */
  question(): ActionOfEvent[] {
    const items: ActionOfEvent[] = [];
    let length = 0;
    for (const { event, text } of this.#open) {
      length += text.length;
      if (items.length > 0 && (this.#tries > 0 || length > QUESTION_LENGTH_MAX)) break;
      items.push({ event, action: text });
    }
    return items;
  }

  /** Takes the answer, which may be about the first few only. */
  take(answer: string): void {
    this.#tries = 0;
    for (const rendered of parseJson(answer) as RenderedAction[]) this.#settle(rendered);
  }

  /** There is no answer: the first action is tried alone, and fails when it is to blame. */
  fail(error: string): void {
    this.#tries += 1;
    if (this.#tries < TRIES_MAX) return;
    this.#tries = 0;
    this.#settle({ error });
  }

  #settle(rendered: RenderedAction): void {
    const open = this.#open.shift();
    if (open === undefined) return;
    const { index, kind, into } = open;
    into[index] = { index, kind, ...rendered };
  }
}

/** Without a body of its own, a webhook carries the event. */
function withBody(action: FullAction, event: SeenEvent): FullAction {
  return action.kind === "webhook" && action.body === null ? { ...action, body: event.record() } : action;
}
