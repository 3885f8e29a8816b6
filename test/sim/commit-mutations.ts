/** Deliberate bugs of commits: of the fence, of their numbers, and of outcomes that are unknown. */
import { Statements } from "#storage/sqlite/statements";
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
