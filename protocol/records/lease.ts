/** Resource leases: amounts of a limited resource, held by a run until it ends, pauses or releases them. */
import Type, { type Static } from "typebox";
import { Amount, Count, Int64, namedMapOf } from "../values/scalar.ts";

/** Body of POST /api/resources/acquire: amounts by resource name, all or nothing; waits at most `wait_ms` (30000). */
export const AcquireRequest = Type.Object(
  {
    resources: Type.Unsafe<Record<string, number>>({ ...namedMapOf(Amount), minProperties: 1 }),
    run_id: Int64,
    wait_ms: Type.Optional(Count),
  },
  { title: "AcquireRequest" },
);
export type AcquireRequest = Static<typeof AcquireRequest>;

/** A lease, or the first resource that blocked it until the wait ended. */
export const AcquireResponse = Type.Union([Type.Object({ lease: Int64 }), Type.Object({ waiting: Type.String() })]);
export type AcquireResponse = Static<typeof AcquireResponse>;

/** Body of POST /api/resources/release; takes effect only for a lease of that run. */
export const ReleaseRequest = Type.Object({ lease: Int64, run_id: Int64 }, { title: "ReleaseRequest" });
export type ReleaseRequest = Static<typeof ReleaseRequest>;

export const ReleaseResponse = Type.Object({ ok: Type.Boolean() });
export type ReleaseResponse = Static<typeof ReleaseResponse>;
