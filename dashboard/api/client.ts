/**
 * Requests to the server. Paths and records are those of the interface (protocol/). If the server requires a token, the request
 * waits until the user has entered one.
 */

import { signal } from "@preact/signals";
import { withMarksShown } from "../format/marks.ts";
import { readSetting, writeSetting } from "../state/settings.ts";

const SETTING = "token";
/** Longer than any answer takes; a request that hangs must not block its page for ever. */
const LIMIT_MS = 30_000;

/** The error of a request; status 0 if the server was not reached. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** True for a temporary failure: the server was away or busy. */
export function mayPass(error: ApiError): boolean {
  return error.status === 0 || error.status >= 500;
}

let token: string | null = readSetting(SETTING);
/** Why a token is required: there is none, or the server rejects it. */
export const tokenWanted = signal<"missing" | "wrong" | null>(null);
const waiting: (() => void)[] = [];

export type QueryValues = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Ask {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** Continues after the page is left. */
  keepalive?: boolean;
}

/** A path with its query; null, undefined and empty values are omitted. */
export function withQuery(path: string, values: QueryValues): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== null && value !== undefined && value !== "") query.set(name, String(value));
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}

/** The headers of every request. */
export function authorization(): Record<string, string> {
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** Waits until the user has entered another token. */
export function untilToken(): Promise<void> {
  tokenWanted.value = token === null ? "missing" : "wrong";
  return new Promise((resolve) => waiting.push(resolve));
}

/** Tries a token and keeps it if the server accepts it; false otherwise. */
export async function giveToken(text: string): Promise<boolean> {
  const response = await send("/api/server", { headers: { authorization: `Bearer ${text}` } });
  if (response.status === 401) return false;
  token = text;
  writeSetting(SETTING, text);
  tokenWanted.value = null;
  for (const resume of waiting.splice(0)) resume();
  return true;
}

export function forgetToken(): void {
  token = null;
  writeSetting(SETTING, null);
}

/** True if this browser keeps a token. */
export function hasToken(): boolean {
  return token !== null;
}

/** One request; returns the answer's JSON, undefined without a body. @throws ApiError */
export async function ask<T>(path: string, { method = "GET", body, signal, keepalive = false }: Ask = {}): Promise<T> {
  for (;;) {
    const headers: Record<string, string> = authorization();
    const init: RequestInit = { method, headers, keepalive };
    if (body !== undefined) {
      headers["content-type"] = "application/json";
      init.body = JSON.stringify(body);
    }
    const limit = AbortSignal.timeout(LIMIT_MS);
    init.signal = signal === undefined ? limit : AbortSignal.any([signal, limit]);
    const response = await send(path, init);
    if (response.status === 401) {
      await untilToken();
      continue;
    }
    return (await readAnswer(response)) as T;
  }
}

async function send(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    const late = cause instanceof DOMException && cause.name === "TimeoutError";
    throw new ApiError(0, late ? "The server did not answer in time" : "The server was not reached");
  }
}

async function readAnswer(response: Response): Promise<unknown> {
  const text = await response.text();
  if (response.ok) return text === "" ? undefined : JSON.parse(text);
  throw new ApiError(response.status, errorIn(text) ?? `The server answered ${response.status}`);
}

function errorIn(text: string): string | null {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? error : null;
  } catch {
    return null;
  }
}

/** True for a request aborted by the dashboard. */
export function isAbort(cause: unknown): boolean {
  return cause instanceof DOMException && cause.name === "AbortError";
}

/** The text of any failure: a sentence of the server, which may quote text of users. */
export function messageOf(cause: unknown): string {
  return withMarksShown(cause instanceof Error ? cause.message : String(cause));
}
