/**
 * The actions of the rules fired in a step. Reader threads render texts with expressions; other actions are ready at once.
 */

import type { FullAction, FullSpec } from "#protocol/records/rule-spec";
import { parseJson } from "#protocol/values/json";
import type { SeenEvent } from "#storage/load/load-events";
import type { ActionOfEvent, RenderedAction } from "#storage/queries/rendered-actions";
import { isTemplate } from "#storage/templates/parse";
import type { PlannedAction } from "../rule-messages.ts";

/** Maximum length of actions in one request to a reader, as JSON text. */
const QUESTION_LENGTH_MAX = 1_000_000;
/** Attempts at a request whose reader fails: an action is tried with others first, then alone. */
export const TRIES_MAX = 2;

interface OpenAction {
  event: number;
  index: number;
  kind: FullAction["kind"];
  text: string;
  /** The list that gets the rendered action. */
  into: PlannedAction[];
}

/** The JSON text of an action that needs rendering, null for other actions. */
const texts = new WeakMap<FullAction, { text: string | null }>();

function textToRender(action: FullAction): string | null {
  const known = texts.get(action);
  if (known !== undefined) return known.text;
  const fields = [action.url, action.message, action.subject, action.parameters, action.headers, action.body];
  // Mail without subject or body gets default texts about the event; functions get records as input.
  const isUnfinished = action.kind === "call" || (action.kind === "email" && (action.subject === null || action.body === null));
  const text = isUnfinished || isTemplate(JSON.stringify(fields)) ? JSON.stringify(action) : null;
  texts.set(action, { text });
  return text;
}

export class ActionPlan {
  #open: OpenAction[] = [];
  #tries = 0;

  /** The actions of a rule for an event; complete once no action is open. */
  add(spec: FullSpec, event: SeenEvent): PlannedAction[] {
    const planned: PlannedAction[] = [];
    for (const [index, action] of spec.do.entries()) {
      const text = textToRender(action);
      if (text !== null) this.#open.push({ event: event.id, index, kind: action.kind, text, into: planned });
      else planned[index] = { index, kind: action.kind, action: withBody(action, event) };
    }
    return planned;
  }

  /** The next request to a reader; empty when all actions are ready. */
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

  /** Takes the result, which may cover only the first actions. */
  take(answer: string): void {
    this.#tries = 0;
    for (const rendered of parseJson(answer) as RenderedAction[]) this.#settle(rendered);
  }

  /** A reader failed: the first action is retried alone, then recorded as failed. */
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

/** A webhook without a body sends the event. */
function withBody(action: FullAction, event: SeenEvent): FullAction {
  return action.kind === "webhook" && action.body === null ? { ...action, body: event.record() } : action;
}
