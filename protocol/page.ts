/** Pages of list endpoints: `items` and the cursor of the next page, null on the last one. */
import Type, { type TSchema } from "typebox";
import { Int64, nullable, sent } from "./scalar.ts";

/** A page object under the given component name. */
export function pageOf<T extends TSchema>(title: string, item: T) {
  return sent(Type.Object({ items: Type.Array(item), next_cursor: Type.Optional(nullable(Int64)) }, { title }));
}

/** The `limit` of a list: at least 1; larger values than the maximum are lowered silently. */
export function pageLimit([standard, maximum]: readonly [number, number]) {
  return Type.Integer({ minimum: 1, maximum, default: standard });
}
