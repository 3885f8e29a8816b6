/** The answers to exchanges in a commit, with their requests. */
import type { ExchangeRequest, ExchangeResponse } from "#protocol/records/exchange";
import type { Primitive } from "#protocol/wire/feed";
import type { Request } from "../model-gateway.ts";

export interface AnsweredExchange {
  request: ExchangeRequest;
  response: ExchangeResponse;
}

/** The exchanges that a commit answers with 200, in the order in which they were decided. */
export function exchangesOf(replies: readonly Primitive[], requests: ReadonlyMap<number, Request>): AnsweredExchange[] {
  const answered: AnsweredExchange[] = [];
  for (let at = 0; at < replies.length; at += 3) {
    const request = requests.get(Number(replies[at]));
    if (request?.kind !== "Exchange" || replies[at + 1] !== 200) continue;
    answered.push({ request: readExchange(request), response: JSON.parse(String(replies[at + 2])) as ExchangeResponse });
  }
  return answered;
}

/** The requests that a commit answers with 200. */
export function acceptedRequests(replies: readonly Primitive[], requests: ReadonlyMap<number, Request>): Request[] {
  const accepted: Request[] = [];
  for (let at = 0; at < replies.length; at += 3) {
    const request = requests.get(Number(replies[at]));
    if (request !== undefined && replies[at + 1] === 200) accepted.push(request);
  }
  return accepted;
}

/** Runs that a person gave a state by one of these requests. */
export function movedByPeople(accepted: readonly Request[]): Set<number> {
  return new Set(accepted.flatMap(({ kind, target }) => (kind === "TransitionRun" ? [target] : [])));
}

export function readExchange({ body }: Request): ExchangeRequest {
  return JSON.parse(String(body)) as ExchangeRequest;
}
