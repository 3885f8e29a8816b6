/** The building blocks of all schemas: integers, times, ids, free-form maps, and the two forms of "may be missing". */
import Type, { type Static, type TSchema, type TUnsafe } from "typebox";
import {
  EXPRESSION_LENGTH_MAX,
  INT32_MAX,
  INT32_MIN,
  INTEGER_MAX,
  INTEGER_MIN,
  NAME_LENGTH_MAX,
  NAMES_COUNT_MAX,
  PATH_LENGTH_MAX,
  TEXT_LENGTH_MAX,
} from "../limits.ts";

/** A JSON object with free content. */
export type JsonMap = Record<string, unknown>;

const SAFE = { minimum: INTEGER_MIN, maximum: INTEGER_MAX };

/** int64 on the wire; exact only within 53 bits, so larger values are refused in bodies. */
export const Int64 = Type.Integer({ format: "int64", ...SAFE });
/** int64 of at least 0: counts and sizes. */
export const Count = Type.Integer({ format: "int64", minimum: 0, maximum: INTEGER_MAX });
export const Int32 = Type.Integer({ format: "int32", minimum: INT32_MIN, maximum: INT32_MAX });
/** Microseconds since the Unix epoch, UTC. */
export const Timestamp = Type.Integer({
  title: "i64",
  format: "int64",
  description: "Microseconds since the Unix epoch, UTC",
  ...SAFE,
});
/**
 * A time by the clock of an engine. Any integer is accepted, because refusing a report for its time would lose the run's work.
 */
export const ReportedTime = Type.Integer({
  format: "int64",
  description:
    "Microseconds since the Unix epoch, UTC, from 0 to the year 2255. Any other time is replaced by the time of receipt, which the run's log records",
});
/** A number; bounded so that an integer kept as text beyond 2^53 (json.ts) never appears where a number is expected. */
export const Double = Type.Number({ format: "double", ...SAFE });
/** A number of at least 0: amounts of a resource. */
export const Amount = Type.Number({ format: "double", minimum: 0, maximum: INTEGER_MAX });

/** UUID text; those made by the server are UUIDv7 in lower case. */
export const Id = Type.String({
  title: "Id",
  format: "uuid",
  pattern: "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
});

/**
 * A JSON object with free content. Plain `type: object`: checking every key against a pattern would cost time and add nothing.
 */
export const FreeMap = Type.Unsafe<JsonMap>({ type: "object", additionalProperties: true });
/** Any JSON value. */
export const AnyJson = Type.Unknown();
export const Strings = Type.Array(Type.String());

/** Text of a request, by its content. */
export const NameText = Type.String({ maxLength: NAME_LENGTH_MAX });
export const PathText = Type.String({ maxLength: PATH_LENGTH_MAX });
export const ExpressionText = Type.String({ maxLength: EXPRESSION_LENGTH_MAX });
export const LongText = Type.String({ maxLength: TEXT_LENGTH_MAX });
/** List of names in a request. */
export const Names = Type.Array(NameText, { maxItems: NAMES_COUNT_MAX });

/** A JSON object whose values all match one schema, whatever the keys (a pattern for keys would miss those with line breaks). */
export function mapOf<T extends TSchema>(values: T): TUnsafe<Record<string, Static<T>>> {
  return Type.Unsafe<Record<string, Static<T>>>({ type: "object", additionalProperties: values });
}

/** A free-form value of a request with a limit on the size of its JSON text. */
export function sizedJson<T extends TSchema>(bytesMax: number, schema: T, what = ""): TUnsafe<Static<T>> {
  return about(`${what === "" ? "" : `${what}. `}At most ${bytesMax} bytes as JSON text`, schema);
}

/** A map of a request: amounts or other values by name. */
export function namedMapOf<T extends TSchema>(values: T): TUnsafe<Record<string, Static<T>>> {
  return Type.Unsafe<Record<string, Static<T>>>({ ...mapOf(values), maxProperties: NAMES_COUNT_MAX });
}

/** The same schema with a description of its place. */
export function about<T extends TSchema>(description: string, schema: T): TUnsafe<Static<T>> {
  return Type.Unsafe<Static<T>>({ ...schema, description });
}

/** T or null. */
export function nullable<T extends TSchema>(schema: T) {
  return Type.Union([schema, Type.Null()]);
}

/** A field that may be absent or null with the same meaning (bodies), or that old servers may omit (responses). */
export function optional<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

/**
 * A schema of a response. The description keeps fields optional where the interface does, but this server always sends every
 * field, so the type has them all.
 */
export function sent<T extends TSchema>(schema: T): TUnsafe<Required<Static<T>>> {
  return Type.Unsafe<Required<Static<T>>>(schema);
}
