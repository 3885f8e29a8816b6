/** Resource leases: amounts of a limited resource, held by a run until it ends, pauses or releases them. */
import Type, { type Static } from "typebox";
import { Amount, about, Count, Int64, namedMapOf } from "../values/scalar.ts";

/**
 * Body of POST /api/resources/acquire: amounts by resource name, all or nothing; waits at most `wait_ms` (30000). `explain` is
 * an addition of Millrace.
 */
export const AcquireRequest = Type.Object(
  {
    resources: Type.Unsafe<Record<string, number>>({ ...namedMapOf(Amount), minProperties: 1 }),
    run_id: Int64,
    wait_ms: Type.Optional(Count),
    explain: Type.Optional(about("Whether an answer without a lease says why", Type.Boolean())),
  },
  { title: "AcquireRequest" },
);
export type AcquireRequest = Static<typeof AcquireRequest>;

/** A lease, or the first resource that blocked it until the wait ended; `text` and `unreachable` if the request asks for them. */
export const AcquireResponse = Type.Union([
  Type.Object({ lease: Int64 }),
  Type.Object({
    waiting: Type.String(),
    text: Type.Optional(about("One sentence for people: how much is needed, held and reserved", Type.String())),
    unreachable: Type.Optional(
      about("Whether the request is for more than there is in total, so that no release can serve it", Type.Boolean()),
    ),
  }),
]);
export type AcquireResponse = Static<typeof AcquireResponse>;

/** Body of POST /api/resources/release; takes effect only for a lease of that run. */
export const ReleaseRequest = Type.Object({ lease: Int64, run_id: Int64 }, { title: "ReleaseRequest" });
export type ReleaseRequest = Static<typeof ReleaseRequest>;

export const ReleaseResponse = Type.Object({ ok: Type.Boolean() });
export type ReleaseResponse = Static<typeof ReleaseResponse>;
