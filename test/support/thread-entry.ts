/**
 * A worker thread with one actor, named after the thread: reports its start to main and forwards messages along a path of
 * names.
 */
import { serveThread } from "#runtime/thread";

export interface Parcel {
  /** Remaining names; the last is the destination. */
  path: string[];
  content: unknown;
  /** Entries added by each actor on the way. */
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
