/**
 * Data of a page: fetched on demand, fetched again when the stream reports a change, and kept on the screen while newer data is
 * on its way or the server is away.
 */
import { type ReadonlySignal, signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { link, linkTried, onLive, onReset } from "../live/link.ts";
import type { LiveKind, LiveMessages } from "../live/messages.ts";
import { type ApiError, ask, isAbort, mayPass } from "./client.ts";

/** At most one fetch for changes within this time, however many messages arrive. */
const REFRESH_MS = 1_000;
/** After a temporary failure. */
const RETRY_MS = 3_000;

export interface Query<T> {
  /** Null until the first answer. */
  data: T | null;
  error: ApiError | null;
  /** A request is under way. */
  busy: boolean;
  /** The data belongs to the former address; show it dimmed. */
  stale: boolean;
  refresh: () => Promise<void>;
}

/** Which messages make the data outdated. A function decides by the message, `true` takes all of its kind. */
export type Watched = { [K in LiveKind]?: true | ((message: LiveMessages[K]) => boolean) };

export interface QueryOptions {
  live?: Watched;
  /** The only run whose messages count. */
  run?: number;
  /** Fetches again after this many milliseconds, for changes that the stream does not report. */
  everyMs?: number;
}

interface State<T> {
  data: T | null;
  path: string | null;
  error: ApiError | null;
  busy: boolean;
}

/** Fetches GET `path`; null fetches nothing. */
export function useQuery<T>(path: string | null, options: QueryOptions = {}): Query<T> {
  const state = useSignal<State<T>>({ data: null, path: null, error: null, busy: path !== null });
  const load = useRef<() => Promise<void>>(async () => {});
  const watched = useRef(options.live);
  watched.current = options.live;
  useEffect(() => {
    if (path === null) return;
    const loader = new Loader<T>(path, state);
    load.current = () => loader.load();
    loader.load();
    const ends = [onReset(() => loader.load()), ...watch(watched, options.run ?? null, () => loader.soon())];
    ends.push(link.subscribe(({ state: now }) => now === "live" && state.peek().error !== null && loader.soon()));
    const timer = options.everyMs === undefined ? 0 : window.setInterval(() => document.hidden || loader.load(), options.everyMs);
    return () => {
      loader.end();
      window.clearInterval(timer);
      for (const end of ends) end();
    };
  }, [path, options.everyMs, options.run]);
  const { data, path: of, error, busy } = state.value;
  return { data, error, busy, stale: data !== null && of !== path, refresh: () => load.current() };
}

class Loader<T> {
  readonly #path: string;
  readonly #state: { value: State<T>; peek(): State<T> };
  #abort = new AbortController();
  #timer = 0;

  constructor(path: string, state: { value: State<T>; peek(): State<T> }) {
    this.#path = path;
    this.#state = state;
  }

  async load(): Promise<void> {
    this.#abort.abort();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    this.#state.value = { ...this.#state.peek(), busy: true };
    try {
      await linkTried();
      const data = await ask<T>(this.#path, { signal });
      if (!signal.aborted) this.#state.value = { data, path: this.#path, error: null, busy: false };
    } catch (cause) {
      if (signal.aborted || isAbort(cause)) return;
      const error = cause as ApiError;
      this.#state.value = { ...this.#state.peek(), error, busy: false };
      if (mayPass(error)) this.soon(RETRY_MS);
    }
  }

  /** Loads within a second, once for all calls until then. */
  soon(delayMs = REFRESH_MS): void {
    if (this.#timer !== 0) return;
    this.#timer = window.setTimeout(() => {
      this.#timer = 0;
      this.load();
    }, delayMs);
  }

  end(): void {
    window.clearTimeout(this.#timer);
    this.#abort.abort();
  }
}

function watch(watched: { current: Watched | undefined }, run: number | null, changed: () => void): (() => void)[] {
  return (Object.keys(watched.current ?? {}) as LiveKind[]).map((kind) =>
    onLive(
      kind,
      (message) => {
        const wanted = watched.current?.[kind] as true | ((message: unknown) => boolean) | undefined;
        if (wanted === true || wanted?.(message) === true) changed();
      },
      run,
    ),
  );
}

/** Data that several parts of the dashboard read: one fetch for all of them, kept until it is older than `maxAgeMs`. */
export function shared<T>(path: string, maxAgeMs: number): { use(): ReadonlySignal<T | null>; refresh(): void } {
  const data = signal<T | null>(null);
  let at = 0;
  const refresh = () => {
    at = Date.now();
    linkTried()
      .then(() => ask<T>(path))
      .then(
        (value) => {
          data.value = value;
        },
        () => {
          at = 0;
        },
      );
  };
  return {
    use() {
      useEffect(() => {
        if (Date.now() - at > maxAgeMs) refresh();
      }, []);
      return data;
    },
    refresh,
  };
}
