/** Sends one webhook: up to three attempts, each with a time limit; redirects are followed if their targets are allowed. */
import { Agent, type Dispatcher, request } from "undici";
import { WEBHOOK_REDIRECTS_MAX } from "#protocol/limits";
import { RULE_DEPTH_HEADER } from "#protocol/records/rule";
import type { OutboundDone, WebhookRequest } from "../rule-engine/rule-messages.ts";
import { inAttempts } from "./attempts.ts";
import type { Targets } from "./target.ts";

/** Time limit of one attempt, including redirects. */
const TRY_MS = 5_000;
/** Maximum of a response that is read; the rest is dropped with the connection. */
const ANSWER_BYTES_MAX = 64 * 1024;
/**
 * Headers that may be sent to another origin. Any other header may be a credential of the first target, or name that target
 * (Host).
 */
const PUBLIC_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "accept-language",
  "content-type",
  "user-agent",
  "idempotency-key",
  RULE_DEPTH_HEADER,
]);

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

type Sent = Pick<WebhookRequest, "url" | "method" | "headers" | "body">;

export function createAgent(targets: Targets): Agent {
  return new Agent({ connect: { lookup: targets.lookup(), timeout: TRY_MS }, keepAliveTimeout: 1_000 });
}

export function sendWebhook(
  agent: Dispatcher,
  targets: Targets,
  sent: Sent,
  stopped: AbortSignal,
): Promise<OutboundDone["result"]> {
  return inAttempts("webhook", stopped, async (attempt) => {
    try {
      const status = await attemptOnce(agent, targets, sent, AbortSignal.any([stopped, AbortSignal.timeout(TRY_MS)]));
      return status < 300 ? { result: { detail: { status, attempts: attempt } } } : { again: `status ${status}` };
    } catch (cause) {
      if (cause instanceof TargetRefused) return { result: { error: `webhook refused: ${cause.message}` } };
      return { again: reasonOf(cause) };
    }
  });
}

class TargetRefused extends Error {}

/** Sends once and follows redirects; returns the status of the last response. */
async function attemptOnce(agent: Dispatcher, targets: Targets, sent: Sent, signal: AbortSignal): Promise<number> {
  let { method, body, headers } = sent;
  let url = targetOf(targets, sent.url);
  for (let redirects = 0; ; redirects += 1) {
    const answer = await request(url, { dispatcher: agent, method: method as "POST", headers, body, signal });
    await answer.body.dump({ limit: ANSWER_BYTES_MAX, signal }).catch(() => undefined);
    const { location } = answer.headers;
    if (!REDIRECTS.has(answer.statusCode) || typeof location !== "string") return answer.statusCode;
    if (redirects >= WEBHOOK_REDIRECTS_MAX) throw new TargetRefused(`more than ${WEBHOOK_REDIRECTS_MAX} redirects`);
    const next = targetOf(targets, location, url);
    if (next.origin !== url.origin)
      headers = Object.fromEntries(Object.entries(headers).filter(([name]) => PUBLIC_HEADERS.has(name)));
    if (answer.statusCode < 307 && method !== "GET" && method !== "HEAD") {
      method = "GET";
      body = null;
    }
    url = next;
  }
}

function targetOf(targets: Targets, text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) throw new TargetRefused(`${JSON.stringify(text.slice(0, 200))} is not a URL`);
  const url = new URL(text, base);
  const wrong = targets.check(url);
  if (wrong !== null) throw new TargetRefused(wrong);
  return url;
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  if (cause.name === "TimeoutError") return `no answer within ${TRY_MS / 1000} s`;
  return cause.message !== "" ? cause.message : cause.name;
}
