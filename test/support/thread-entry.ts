/** A worker thread with one actor, named after the thread: it tells main of its start and hands messages on along a path of names. */
import { serveThread } from "#runtime/thread";

export interface Parcel {
  /** Names it still has to pass; the last one is where it ends. */
  path: string[];
  content: unknown;
  /** What each actor on the way added. */
  seen: string[];
}

export interface EntryData {
  thread: string;
  threadStarts: number;
}

serveThread<EntryData>(({ thread: name, threadStarts }) => [
  {
    name,
    start: (context, out) => {
      out.send("arrivals", { started: name, generation: context.generation, thread: threadStarts });
      return {
        receive: (message, out) => {
          const { path, content, seen } = message as Parcel;
          if (content === "throw") throw new Error(`${name} threw`);
          if (content === "hang") for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
          const [next = "arrivals", ...rest] = path;
          out.send(next, { path: rest, content, seen: [...seen, name] } satisfies Parcel);
        },
      };
    },
  },
]);
