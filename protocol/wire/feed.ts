/**
 * The committed feed: what the writer sends the gateway after each commit, in commit order. The feed is the only source of
 * answers to commands and of stream messages, so nothing is visible before it is stored.
 */

/** Kinds of stream messages (interface: "Stream messages"), by their position in Committed.stream. */
export const STREAM_KINDS = [
  "run.updated",
  "run.deleted",
  "task_run.updated",
  "log.appended",
  "event.created",
  "flow.registered",
  "artifact.updated",
  "schedule.updated",
  "schedule.deleted",
  "rule.updated",
  "rule.deleted",
  "variable.updated",
  "variable.deleted",
  "backfill.created",
  "backfill.updated",
  "expectation.armed",
  "expectation.met",
  "expectation.lapsed",
] as const;

export type StreamKind = (typeof STREAM_KINDS)[number];

/** Kinds whose messages have a run in Committed.runs. */
export const KINDS_OF_RUNS: ReadonlySet<StreamKind> = new Set(["task_run.updated", "event.created", "artifact.updated"]);

/** The code of a stream kind in a flat array. */
export const STREAM_CODE = Object.fromEntries(STREAM_KINDS.map((kind, index) => [kind, index])) as Record<StreamKind, number>;

export type Primitive = number | bigint | string | Uint8Array | null;

/** One commit in the form for the gateway. */
export interface Committed {
  kind: "Committed";
  /** Flat list: command id, HTTP status, body (JSON text, null, or the id of the event that is the body), repeated. */
  replies: Primitive[];
  /**
   * Flat list: stream kind code, id of the row (text for variables), repeated, in order. The k-th event.created stands for
   * event `first_event_id + k`; its id slot is 0, or the command that is answered 201 with this event. The k-th log.appended
   * stands for the k-th entry of `logs`; its id slot is 0.
   */
  stream: Primitive[];
  /**
   * The k-th entry of `stream` that is about a task run, an event or an artifact belongs to the k-th run here; 0 for an entry
   * whose run, if any, has to be read.
   */
  runs: number[];
  /**
   * Stream number of the first entry of `stream`; the others follow without gaps. Without entries: the next number, or 0 if
   * unknown.
   */
  first_seq: number;
  first_event_id: number;
  /** Flat list: run id, id of the last line, number of lines, repeated. */
  logs: number[];
  /** The gateway answers this commit with FeedRead of this number. Absent on most commits, because each FeedRead wakes the writer. */
  acknowledge?: number;
}

/** A commit, or its part, without stream messages. */
export function committedAnswers(replies: Primitive[]): Committed {
  return { kind: "Committed", replies, stream: [], runs: [], first_seq: 0, first_event_id: 0, logs: [] };
}

/**
 * The core has (re)started with this epoch: resend every unanswered command. All answers of earlier epochs came before this
 * message.
 */
export interface Reloaded {
  kind: "Reloaded";
  epoch: number;
}

/** The store has stopped taking writes (disk full, I/O error) or takes them again. */
export interface ReadOnly {
  kind: "ReadOnly";
  on: boolean;
  /** 507 when the disk is full, else 503. */
  status: 503 | 507;
  error: string;
  /** Start of the problem, microseconds since the Unix epoch; 0 when the store takes writes. */
  since: number;
  /**
   * True while the store does not answer: a commit is under way, and what the core decides meanwhile waits behind that commit.
   * Requests that are already decided keep waiting, because they may be stored.
   */
  silent?: true;
}

/**
 * The writers have restarted: these commands were decided and stored, but their answers may be lost. A core that still runs
 * resends the answers. After the next Reloaded these answers can no longer come, and the commands must not be decided again.
 */
export interface Decided {
  kind: "Decided";
  commands: number[];
}

/** A gateway has handled the commit that carried this number as `acknowledge`: no stream message up to it is in flight. */
export interface FeedRead {
  kind: "FeedRead";
  seq: number;
}

/** Which flows this server has registered from code: reads show that for each flow. */
export interface LiveFlows {
  kind: "LiveFlows";
  ids: number[];
}

/** Whether the server takes work, from the main thread: null, or why not. */
export interface Serving {
  kind: "Serving";
  reason: string | null;
}

/** Events of a commit that are the answer to a command: command and event, as pairs. */
export function eventAnswers({
  stream,
  first_event_id,
}: Pick<Committed, "stream" | "first_event_id">): [command: number, event: number][] {
  const answers: [number, number][] = [];
  let eventId = first_event_id;
  for (let index = 0; index < stream.length; index += 2) {
    if (stream[index] !== STREAM_CODE["event.created"]) continue;
    const command = Number(stream[index + 1]);
    if (command !== 0) answers.push([command, eventId]);
    eventId += 1;
  }
  return answers;
}

export type FeedMessage = Committed | Reloaded | ReadOnly | Decided;
