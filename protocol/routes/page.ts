/** Pages of list endpoints: `items` and the cursor of the next page, null on the last one. */
import Type, { type Static, type TSchema } from "typebox";
import { RUN_PARTS_PAGE_MAX } from "../limits.ts";
import { about, Int64, nullable, sent } from "../values/scalar.ts";

/** A page object under the given component name. */
export function pageOf<T extends TSchema>(title: string, item: T) {
  return sent(Type.Object({ items: Type.Array(item), next_cursor: Type.Optional(nullable(Int64)) }, { title }));
}

/** The `limit` of a list: at least 1; values above the maximum are lowered silently. */
export function pageLimit([standard, maximum]: readonly [number, number]) {
  return Type.Integer({ minimum: 1, maximum, default: standard });
}

/**
 * Query of the lists that belong to one run or task run, oldest first. An addition of Millrace: without it the lists are whole.
 */
export const PartsQuery = Type.Object({
  after: Type.Optional(about("Only those after this id", Int64)),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: RUN_PARTS_PAGE_MAX,
      description: "Maximum number; all without it. A shorter page is the last one",
    }),
  ),
});
export type PartsQuery = Static<typeof PartsQuery>;
