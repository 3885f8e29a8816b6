/**
 * The only connection to the event stream. It resumes with the last number it received. If the server cannot replay from there
 * (it restarted, or too many messages passed), it sends `resync` and everything on the page is fetched again.
 * A hidden page closes its connection after a while: browsers allow six per server, and every tab would hold one.
 */
import { batch, computed, signal } from "@preact/signals";
import { authorization, untilToken, withQuery } from "../api/client.ts";
import { type Frame, FrameReader } from "./frames.ts";
import type { LiveKind, LiveMessages } from "./messages.ts";

/** The server sends a comment after 15 s of silence; after more than this the connection is dead. */
const SILENCE_MS = 20_000;
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 2_000;
const HIDDEN_MS = 30_000;
/** A backlog whose last rows were deleted never reaches its end; after this time it counts as read. */
const CATCH_UP_MS = 1_000;

export type LinkState = "connecting" | "live" | "catching_up" | "resync" | "offline";

/** The state of the connection, and since when (milliseconds). */
export const link = signal<{ state: LinkState; since: number }>({ state: "connecting", since: Date.now() });
/** True while the server is away: writing is disabled. */
export const offline = computed(() => link.value.state === "offline");
/** Time of the last message, milliseconds: while the server is away, figures are from then. */
export const lastNews = signal(Date.now());

type Handler<K extends LiveKind> = (message: LiveMessages[K]) => void;

const handlers = new Map<LiveKind, Set<(message: never) => void>>();
const resets = new Set<() => Promise<unknown> | undefined>();

/** Calls back for each message of a kind; returns a function that stops it. */
export function onLive<K extends LiveKind>(kind: K, handler: Handler<K>): () => void {
  const known = handlers.get(kind) ?? new Set();
  handlers.set(kind, known);
  known.add(handler);
  return () => known.delete(handler);
}

/** Calls back when everything must be fetched again. The connection light shows this until the promises are settled. */
export function onReset(handler: () => Promise<unknown> | undefined): () => void {
  resets.add(handler);
  return () => resets.delete(handler);
}

let firstHello: () => void = () => {};
/** Resolves once the stream is open or has failed to open: a fetch after that misses nothing. */
export const linkTried: Promise<void> = new Promise((resolve) => {
  firstHello = resolve;
});

function enter(state: LinkState): void {
  if (link.value.state !== state) link.value = { state, since: Date.now() };
}

/** The newest number received; null before the first connection. */
let position: number | null = null;
let catchUpTo = 0;

function take({ event, id, data }: Frame): void {
  if (event === "hello") {
    const { latest } = JSON.parse(data) as { latest: number };
    catchUpTo = latest;
    const behind = position !== null && position < latest;
    position ??= latest;
    enter(behind ? "catching_up" : "live");
    if (behind) window.setTimeout(() => link.value.state === "catching_up" && enter("live"), CATCH_UP_MS);
    firstHello();
    return;
  }
  if (id !== null) position = id;
  if (event === "resync") resync();
  else for (const handler of handlers.get(event as LiveKind) ?? []) handler(JSON.parse(data) as never);
  if (link.value.state === "catching_up" && position !== null && position >= catchUpTo) enter("live");
}

function resync(): void {
  enter("resync");
  const fetched = [...resets].map((handler) => handler());
  Promise.allSettled(fetched).then(() => {
    if (link.value.state === "resync") enter("live");
  });
}

/** One connection, until it ends or fails. */
async function read(signal: AbortSignal): Promise<void> {
  const gone = new AbortController();
  const watch = () => window.setTimeout(() => gone.abort(), SILENCE_MS);
  let watchdog = watch();
  try {
    const response = await fetch(withQuery("/api/stream", { since: position }), {
      headers: authorization(),
      signal: AbortSignal.any([signal, gone.signal]),
    });
    if (response.status === 401) {
      firstHello();
      await untilToken();
      return;
    }
    if (!response.ok || response.body === null) throw new Error(`the stream answered ${response.status}`);
    const frames = new FrameReader();
    const reader = response.body.getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      window.clearTimeout(watchdog);
      watchdog = watch();
      lastNews.value = Date.now();
      batch(() => frames.read(value).forEach(take));
    }
  } finally {
    window.clearTimeout(watchdog);
    gone.abort();
  }
}

let hidden = new AbortController();

function watchVisibility(): void {
  let timer = 0;
  document.addEventListener("visibilitychange", () => {
    window.clearTimeout(timer);
    if (document.hidden) timer = window.setTimeout(() => hidden.abort(), HIDDEN_MS);
  });
}

function untilVisible(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", () => resolve(), { once: true }));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => window.setTimeout(resolve, ms));
}

/** Connects, and reconnects whenever the connection ends; never returns. */
export async function startLink(): Promise<never> {
  watchVisibility();
  let retryMs = RETRY_FIRST_MS;
  for (;;) {
    hidden = new AbortController();
    const before = lastNews.value;
    await read(hidden.signal).catch(() => undefined);
    firstHello();
    if (hidden.signal.aborted) {
      await untilVisible();
      continue;
    }
    enter("offline");
    retryMs = lastNews.value === before ? Math.min(RETRY_MAX_MS, retryMs * 2) : RETRY_FIRST_MS;
    await pause(retryMs);
  }
}
