/**
 * The only connection to the event stream. It asks for the messages that the page listens for (stream-filter.ts), and is replaced
 * when the page listens for others. It resumes with the last number it received. If the server cannot replay from there (it
 * restarted, or too many messages passed), it sends `resync` and everything on the page is fetched again.
 * A hidden page closes its connection after a while, and a page that is left closes it at once: browsers allow six per server, every
 * tab would hold one, and a browser keeps pages that were left, with their connections, for its back button.
 */
import { batch, computed, signal } from "@preact/signals";
import { authorization, untilToken, withQuery } from "../api/client.ts";
import { type Frame, FrameReader } from "./frames.ts";
import type { LiveKind, LiveMessages } from "./messages.ts";
import { covers, filterOf, isSame, type Listening, runOf, type StreamFilter } from "./stream-filter.ts";

/** The server sends a comment after 15 s of silence; after more than this the connection is dead. */
const SILENCE_MS = 20_000;
const RETRY_FIRST_MS = 250;
const RETRY_MAX_MS = 2_000;
const HIDDEN_MS = 30_000;
const NARROW_MS = 2_000;
const FIRST_PAGE_MS = 50;
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

interface Listener extends Listening {
  handler: (message: never) => void;
}

const listeners = new Set<Listener>();
const resets = new Set<() => Promise<unknown> | undefined>();

/**
 * Calls back for each message of a kind; returns a function that stops it.
 * @param run the only run whose messages are needed
 */
export function onLive<K extends LiveKind>(kind: K, handler: Handler<K>, run: number | null = null): () => void {
  const listener = { kind, handler, run };
  listeners.add(listener);
  tune();
  return () => {
    listeners.delete(listener);
    tune();
  };
}

/** Calls back when everything must be fetched again. The connection light shows this until the promises are settled. */
export function onReset(handler: () => Promise<unknown> | undefined): () => void {
  resets.add(handler);
  return () => resets.delete(handler);
}

/** What the newest connection was asked for; null before the first. */
let asked: StreamFilter | null = null;
/** Resolved once the newest connection is open or has failed to open. */
let tried = Promise.withResolvers<void>();
/** Ends the connection in favour of one with another filter. */
let replaced = new AbortController();
let tuning = 0;

/** Resolves once the stream brings what the page listens for, or has failed to open: a fetch after that misses nothing. */
export async function linkTried(): Promise<void> {
  // Listeners that are added in this turn count.
  await Promise.resolve();
  if (asked !== null && !covers(asked, filterOf(listeners))) replace();
  for (let awaited = null; awaited !== tried.promise; await awaited) awaited = tried.promise;
}

/** Listeners have come or gone. A stream that brings too much is replaced once the page has stayed as it is. */
function tune(): void {
  window.clearTimeout(tuning);
  if (asked === null || isSame(asked, filterOf(listeners))) return;
  tuning = window.setTimeout(replace, covers(asked, filterOf(listeners)) ? NARROW_MS : 0);
}

function replace(): void {
  window.clearTimeout(tuning);
  asked = filterOf(listeners);
  // Whoever waited for the former connection waits for the next one.
  const former = tried;
  tried = Promise.withResolvers();
  tried.promise.then(former.resolve);
  replaced.abort();
}

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
    // A connection that only replaces one brings what the page has not listened for so far.
    const isBack = link.value.state !== "live";
    enter(behind && isBack ? "catching_up" : "live");
    if (behind && isBack) window.setTimeout(() => link.value.state === "catching_up" && enter("live"), CATCH_UP_MS);
    tried.resolve();
    return;
  }
  if (id !== null) position = id;
  if (event === "resync") resync();
  else tell(event as LiveKind, data);
  if (link.value.state === "catching_up" && position !== null && position >= catchUpTo) enter("live");
}

function tell(kind: LiveKind, data: string): void {
  const message = JSON.parse(data) as LiveMessages[LiveKind];
  const about = runOf(kind, message);
  for (const listener of [...listeners])
    if (listener.kind === kind && (listener.run === null || listener.run === about)) listener.handler(message as never);
}

function resync(): void {
  enter("resync");
  const fetched = [...resets].map((handler) => handler());
  Promise.allSettled(fetched).then(() => {
    if (link.value.state === "resync") enter("live");
  });
}

/** One connection, until it ends or fails. */
async function read({ run, kinds }: StreamFilter, signal: AbortSignal): Promise<void> {
  const gone = new AbortController();
  const watch = () => window.setTimeout(() => gone.abort(), SILENCE_MS);
  let watchdog = watch();
  try {
    const response = await fetch(withQuery("/api/stream", { since: position, run_id: run, kinds: kinds.join(",") }), {
      headers: authorization(),
      signal: AbortSignal.any([signal, gone.signal]),
    });
    if (response.status === 401) {
      tried.resolve();
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
let isLeft = false;

function watchVisibility(): void {
  let timer = 0;
  document.addEventListener("visibilitychange", () => {
    window.clearTimeout(timer);
    if (document.hidden) timer = window.setTimeout(() => hidden.abort(), HIDDEN_MS);
  });
  window.addEventListener("pagehide", () => {
    isLeft = true;
    hidden.abort();
  });
  window.addEventListener("pageshow", () => {
    isLeft = false;
  });
}

async function untilVisible(): Promise<void> {
  while (document.hidden || isLeft) await Promise.race([next(document, "visibilitychange"), next(window, "pageshow")]);
}

function next(target: EventTarget, event: string): Promise<void> {
  return new Promise((resolve) => target.addEventListener(event, () => resolve(), { once: true }));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => window.setTimeout(resolve, ms));
}

/** Connects, and reconnects whenever the connection ends; never returns. */
export async function startLink(): Promise<never> {
  watchVisibility();
  let retryMs = RETRY_FIRST_MS;
  // The parts of the first page add their listeners.
  await pause(FIRST_PAGE_MS);
  for (;;) {
    hidden = new AbortController();
    replaced = new AbortController();
    asked = filterOf(listeners);
    const before = lastNews.value;
    await read(asked, AbortSignal.any([hidden.signal, replaced.signal])).catch(() => undefined);
    if (replaced.signal.aborted) continue;
    tried.resolve();
    if (hidden.signal.aborted) {
      await untilVisible();
      continue;
    }
    enter("offline");
    retryMs = lastNews.value === before ? Math.min(RETRY_MAX_MS, retryMs * 2) : RETRY_FIRST_MS;
    await pause(retryMs);
  }
}
