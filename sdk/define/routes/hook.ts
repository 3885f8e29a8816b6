import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { checkCustomRoute } from "#protocol/routes/custom-route";
import { defaultKeyFrom } from "../../client/idempotency.ts";
import { variable } from "../../run/variable.ts";
import type { Duration } from "../duration.ts";
import { DeliveryRejection, type Verification, type VerifiedDelivery, verifyDelivery } from "./delivery-signature.ts";
import { declaredRoute, limitOf, type PathParameters, type RouteContext, type RouteHandler } from "./route.ts";

/** How long a secret that was read from a variable is used before it is read again. */
const SECRET_MS = 5_000;

/** The second argument of a hook's function, beside the payload. */
export interface HookContext<Parameters = Record<string, string>> extends RouteContext<Parameters> {
  /**
   * The sender's id of the delivery, or a digest of what the sender signed if it sends none. A repeated delivery has the same
   * id.
   */
  id: string;
  /** Headers of the delivery: `headers.get("x-github-event")` is the kind of an event of GitHub. */
  headers: Headers;
  /** The body as it was sent and signed. */
  rawBody: Uint8Array;
}

/**
 * Handles one verified delivery. The payload is the parsed JSON; for a form, an object of its fields, or the JSON of its field
 * `payload`; for any other body, the text. What the function returns is answered as by the handler of a route.
 */
export type HookFunction<Payload = unknown, Parameters = Record<string, string>> = (
  payload: Payload,
  context: HookContext<Parameters>,
) => unknown;

/** Options of `hook`. */
export interface HookOptions {
  /**
   * Name of the variable with the secret that is shared with the sender, or a function that returns the secret, or several
   * while one replaces another.
   */
  secret: string | (() => string | readonly string[] | Promise<string | readonly string[]>);
  /** How the sender signs its deliveries. */
  verify: Verification;
  /** Time limit of one delivery, at most 5 minutes. Default "30s"; most senders wait for 3 to 30 s. */
  timeout?: Duration;
}

/** The delivery that the current code handles. */
interface CurrentDelivery {
  key: string;
  created: number;
}

const current = new AsyncLocalStorage<CurrentDelivery>();

/**
 * Declares an incoming hook: `hook(name, path, { secret, verify }, fn)`. Other servers POST deliveries to the path without the
 * token of this server; `fn` is called only for a delivery that is signed with the secret, and, where the sender signs the
 * time, at most 5 minutes old. Other deliveries are answered 401. Export the hook so that the server finds it.
 *
 * What `fn` creates (runs, batches, backfills) is created once for each delivery: the n-th creation within one delivery has an
 * idempotency key made of the delivery's id, so a delivery that the sender repeats within 24 hours gets the same run.
 * @throws TypeError for a path that cannot be served, an unknown way to verify, or without a function; RangeError for the time
 * limit.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { hook } from "millrace";
 * import { callHook } from "millrace/testing";
 *
 * export const pushed = hook(
 *   "pushed",
 *   "/hooks/github",
 *   // The name of the variable with the secret: millrace variables set github-secret - --secret < secret.txt
 *   { secret: "github-secret", verify: "github" },
 *   async (payload: { ref: string }) => ({ ref: payload.ref }),
 * );
 *
 * const answer = await callHook(pushed, "/hooks/github", { ref: "refs/heads/main" });
 * assert.deepEqual(await answer.json(), { ref: "refs/heads/main" });
 * ```
 */
export function hook<Path extends string, Payload = unknown>(
  name: string,
  path: Path,
  options: HookOptions,
  fn: HookFunction<Payload, PathParameters<Path>>,
): RouteHandler<PathParameters<Path>> {
  const named = `hook "${name}"`;
  const wrong = checkCustomRoute("POST", path);
  if (wrong !== null) throw new TypeError(`${named}: ${wrong}`);
  checkOptions(named, options);
  if (typeof fn !== "function") throw new TypeError(`${named} needs a function: hook(name, path, { secret, verify }, fn)`);
  const receiver = new Receiver(name, options, fn as HookFunction);
  const limitMs = limitOf(named, options.timeout);
  const handler: RouteHandler = (request, context) => receiver.receive(request, context);
  return declaredRoute({ method: "POST", path, limitMs, handler, hook: fn as HookFunction }) as RouteHandler<
    PathParameters<Path>
  >;
}

const NAMED_VERIFICATIONS: readonly unknown[] = ["github", "stripe", "slack", "standard"];

function checkOptions(named: string, { secret, verify }: HookOptions): void {
  if (typeof secret !== "function" && (typeof secret !== "string" || secret === ""))
    throw new TypeError(`${named} needs a secret: the name of a variable, or a function that returns the secret`);
  const byHeader = typeof verify === "object" && typeof verify?.header === "string";
  if (!byHeader && !NAMED_VERIFICATIONS.includes(verify))
    throw new TypeError(`${named}: verify is ${NAMED_VERIFICATIONS.join(", ")} or { header, ... }`);
}

/** Verifies the deliveries of one hook and passes them on. */
class Receiver {
  readonly #name: string;
  readonly #options: HookOptions;
  readonly #fn: HookFunction;
  #secrets: { value: Promise<readonly string[]>; readAt: number } | null = null;

  constructor(name: string, options: HookOptions, fn: HookFunction) {
    this.#name = name;
    this.#options = options;
    this.#fn = fn;
  }

  async receive(request: Request, { params, signal }: RouteContext): Promise<unknown> {
    const body = new Uint8Array(await request.arrayBuffer());
    const { headers } = request;
    let delivery: VerifiedDelivery;
    try {
      delivery = verifyDelivery(this.#options.verify, { headers, body }, await this.#currentSecrets(), Date.now() / 1000);
    } catch (error) {
      if (!(error instanceof DeliveryRejection)) throw error;
      return Response.json({ error: `the delivery is rejected: ${error.message}` }, { status: 401 });
    }
    const payload = payloadOf(headers.get("content-type") ?? "", body);
    if (this.#options.verify === "slack" && isChallenge(payload)) return { challenge: payload.challenge };
    const key = createHash("sha256").update(`${this.#name}\0${delivery.identity}`).digest("hex");
    const context = { params, signal, headers, rawBody: body, id: delivery.id };
    return await current.run({ key, created: 0 }, () => this.#fn(payload, context));
  }

  async #currentSecrets(): Promise<readonly string[]> {
    const known = this.#secrets;
    if (known !== null && Date.now() - known.readAt < SECRET_MS) return await known.value;
    const value = this.#readSecrets();
    this.#secrets = { value, readAt: Date.now() };
    try {
      return await value;
    } catch (error) {
      this.#secrets = null;
      throw error;
    }
  }

  async #readSecrets(): Promise<readonly string[]> {
    const { secret } = this.#options;
    const found = typeof secret === "function" ? await secret() : await variable.get(secret);
    const secrets = (typeof found === "string" ? [found] : found) as readonly string[] | undefined;
    if (Array.isArray(secrets) && secrets.length > 0 && secrets.every((text) => typeof text === "string" && text !== ""))
      return secrets;
    const from =
      typeof secret === "function" ? "its function returned none" : `set it: millrace variables set ${secret} --secret`;
    throw new Error(`hook "${this.#name}" has no secret to verify deliveries with; ${from}`);
  }
}

/** Slack's question whether the address is this hook. */
function isChallenge(payload: unknown): payload is { challenge: string } {
  if (typeof payload !== "object" || payload === null) return false;
  return "type" in payload && payload.type === "url_verification" && "challenge" in payload;
}

function payloadOf(contentType: string, body: Uint8Array): unknown {
  const text = Buffer.from(body).toString();
  if (contentType.startsWith("application/x-www-form-urlencoded")) {
    const fields = Object.fromEntries(new URLSearchParams(text));
    return fields["payload"] === undefined ? fields : parsed(fields["payload"]);
  }
  return parsed(text);
}

/** JSON, or the text itself. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

defaultKeyFrom(() => {
  const delivery = current.getStore();
  if (delivery === undefined) return undefined;
  delivery.created += 1;
  return `hook-${delivery.key}-${delivery.created}`;
});
