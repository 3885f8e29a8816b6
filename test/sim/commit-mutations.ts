/** Deliberate bugs of commits: of the fence, of their numbers, and of outcomes that are unknown. */
import { CommitClient } from "#actors/store-writer/commit-client";
import { Statements } from "#storage/sqlite/statements";
import { changesRows } from "#storage/write/batch";
import { MemberRow } from "#storage/write/member-row";
import { type Method, type Mutation, replace } from "./mutation-tools.ts";

/** Takes a condition from the statement that each commit begins with. */
function withoutCondition(condition: string, always: string): () => void {
  return replace(Statements.prototype as unknown as Record<"raw", Method>, "raw", (original) => {
    return function (this: unknown, sql: string) {
      const changed = sql.startsWith("UPDATE members SET number") ? sql.replace(condition, always) : sql;
      return (original as (...values: unknown[]) => unknown).call(this, changed);
    } as Method;
  });
}

/** Number of the batch in flight, or 0. */
let inFlight = 0;
/** Answers the batch that was sent last. */
let answerNewest = (): void => undefined;

export const COMMIT_MUTATIONS: readonly Mutation[] = [
  {
    name: "a former owner of the store commits",
    install: () => withoutCondition("epoch = ?", "? > 0"),
  },
  {
    name: "numbers of commits are not looked at",
    install: () => {
      const restore = [
        withoutCondition("AND number = ?", "AND ? >= 0"),
        replace(MemberRow.prototype as unknown as Record<"find", Method>, "find", () => () => null),
      ];
      return () => {
        for (const undo of restore) undo();
      };
    },
  },
  {
    name: "a batch that ends the writers is sent to them for ever",
    // Writers that start claim to have committed it.
    install: () =>
      replace(CommitClient.prototype, "deliver", (original) => {
        inFlight = 0;
        return function (this: unknown, message: { kind?: string; number: number }, lane: unknown) {
          if (message.kind === "Acknowledged" || message.kind === "Rejected") inFlight = 0;
          const changed = message.kind === "WriterStarted" ? { ...message, number: Math.max(message.number, inFlight) } : message;
          return (original as (...values: unknown[]) => unknown).call(this, changed, lane);
        } as Method;
      }),
    sends: (message) => {
      if (message.kind === "Batch" && changesRows(message)) inFlight = message.number;
      return true;
    },
  },
  {
    name: "a refused batch is answered",
    install: () =>
      replace(CommitClient.prototype, "deliver", (original) => {
        answerNewest = () => undefined;
        return function (this: unknown, message: { kind?: string }, lane: unknown) {
          if (message.kind === "Rejected") answerNewest();
          return (original as (...values: unknown[]) => unknown).call(this, message, lane);
        } as Method;
      }),
    sends: (message, server) => {
      if (message.kind === "Batch") answerNewest = () => server.answerAtOnce(message);
      return true;
    },
  },
  {
    name: "a commit of unknown outcome is sent again with another content",
    commitsAgain: ({ batch, logs }) => ({ batch: { ...batch, ops: [] }, logs }),
  },
  {
    name: "a commit of unknown outcome counts as refused",
    outcome: (outcome) => (outcome.kind === "unknown" ? { kind: "refused", error: "simulated", disk_full: false } : outcome),
  },
  {
    name: "a commit of unknown outcome counts as stored",
    outcome: (outcome, { batch: { number } }) =>
      outcome.kind === "unknown" ? { kind: "applied", result: { number, first_event_id: 0, first_seq: 0, logs: [] } } : outcome,
  },
];
