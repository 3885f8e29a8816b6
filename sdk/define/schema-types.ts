/**
 * The schema types of typebox, for parameters, answers and messages; the table has those that flows use most. Types of
 * parameter values also carry whether they have a default, so that the compiler knows which parameters a call of the flow may
 * omit.
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { flow, Type } from "millrace";
 * import { runFlow } from "millrace/testing";
 *
 * const parameters = Type.Object({
 *   day: Type.String({ format: "date" }),
 *   regions: Type.Array(Type.Enum(["eu", "us"]), { default: ["eu"] }),
 *   limit: Type.Optional(Type.Integer({ minimum: 1 })),
 * });
 * const load = flow("load", { parameters }, async ({ day, regions }) => `${day}: ${regions.join(", ")}`);
 *
 * const { result } = await runFlow(load, { day: "2026-01-01", regions: ["eu", "us"] });
 * assert.equal(result, "2026-01-01: eu, us");
 * ```
 */
import * as typebox from "typebox";

export * from "typebox";

/** A schema as typebox types it, with its default if it has one. */
type WithDefault<Schema, Options> = Options extends { default: unknown } ? Schema & { default: unknown } : Schema;

/**
 * An object schema whose properties show in their types whether they have a default; a property without that mark may still
 * have one.
 */
export interface ObjectSchema<Properties extends typebox.TProperties> extends typebox.TObject<Properties> {
  "~defaults"?: "typed";
}

type NoOptions = Record<never, never>;

type Plain<Schema, Options extends typebox.TSchemaOptions> = <const Given extends Options = Options>(
  options?: Given,
) => WithDefault<Schema, Given>;

/** Any value. */
export const Any = typebox.Any as Plain<typebox.TAny, typebox.TSchemaOptions>;
/** True or false; texts from a command line or a form are converted. */
const booleanSchema = typebox.Boolean as Plain<typebox.TBoolean, typebox.TSchemaOptions>;
/** A whole number, with options such as `minimum` and `maximum`. */
export const Integer = typebox.Integer as Plain<typebox.TInteger, typebox.TNumberOptions>;
/** Only null. */
export const Null = typebox.Null as Plain<typebox.TNull, typebox.TSchemaOptions>;
/** A number, with options such as `minimum` and `maximum`. */
const numberSchema = typebox.Number as Plain<typebox.TNumber, typebox.TNumberOptions>;
/** A text, with options such as `minLength`, `pattern` and `format` ("date", "email", "uuid"). */
const stringSchema = typebox.String as Plain<typebox.TString, typebox.TStringOptions>;
/** Any value; the type of the parameter is `unknown`. */
export const Unknown = typebox.Unknown as Plain<typebox.TUnknown, typebox.TSchemaOptions>;

/** A list whose entries have one schema, with options such as `minItems` and `uniqueItems`. */
const arraySchema = typebox.Array as <Item extends typebox.TSchema, const Given extends typebox.TArrayOptions = NoOptions>(
  items: Item,
  options?: Given,
) => WithDefault<typebox.TArray<Item>, Given>;

/** One of a list of values, or of the values of an object. */
export const Enum = typebox.Enum as {
  <Values extends typebox.TEnumValue[], const Given extends typebox.TSchemaOptions = NoOptions>(
    values: readonly [...Values],
    options?: Given,
  ): WithDefault<typebox.TEnum<Values>, Given>;
  <Values extends typebox.TTypeScriptEnumLike, const Given extends typebox.TSchemaOptions = NoOptions>(
    values: Values,
    options?: Given,
  ): WithDefault<typebox.TEnum<typebox.TTypeScriptEnumToEnumValues<Values>>, Given>;
};

/** Exactly one value. */
export const Literal = typebox.Literal as <
  Value extends typebox.TLiteralValue,
  const Given extends typebox.TSchemaOptions = NoOptions,
>(
  value: Value,
  options?: Given,
) => WithDefault<typebox.TLiteral<Value>, Given>;

/** An object with these properties. A property may be left out if it is `Type.Optional` or has a default. */
const objectSchema = typebox.Object as <
  Properties extends typebox.TProperties,
  const Given extends typebox.TObjectOptions = NoOptions,
>(
  properties: Properties,
  options?: Given,
) => WithDefault<ObjectSchema<Properties>, Given>;

/** An object with any keys that match one schema, and values that match another. */
export const Record = typebox.Record as <
  Key extends typebox.TSchema,
  Value extends typebox.TSchema,
  const Given extends typebox.TObjectOptions = NoOptions,
>(
  key: Key,
  value: Value,
  options?: Given,
) => WithDefault<typebox.TRecordAction<Key, Value>, Given>;

/** A list of fixed length with a schema for each place. */
export const Tuple = typebox.Tuple as <Types extends typebox.TSchema[], const Given extends typebox.TTupleOptions = NoOptions>(
  types: [...Types],
  options?: Given,
) => WithDefault<typebox.TTuple<Types>, Given>;

/** A value that matches one of the schemas. */
export const Union = typebox.Union as <Types extends typebox.TSchema[], const Given extends typebox.TSchemaOptions = NoOptions>(
  anyOf: [...Types],
  options?: Given,
) => WithDefault<typebox.TUnion<Types>, Given>;

export { arraySchema as Array, booleanSchema as Boolean, numberSchema as Number, objectSchema as Object, stringSchema as String };
