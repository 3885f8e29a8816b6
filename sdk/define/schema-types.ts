/**
 * `Type`: the schema types of typebox. Types of parameter values also carry whether they have a default, so that the compiler
 * knows which parameters a call of the flow may omit.
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

export const Any = typebox.Any as Plain<typebox.TAny, typebox.TSchemaOptions>;
const booleanSchema = typebox.Boolean as Plain<typebox.TBoolean, typebox.TSchemaOptions>;
export const Integer = typebox.Integer as Plain<typebox.TInteger, typebox.TNumberOptions>;
export const Null = typebox.Null as Plain<typebox.TNull, typebox.TSchemaOptions>;
const numberSchema = typebox.Number as Plain<typebox.TNumber, typebox.TNumberOptions>;
const stringSchema = typebox.String as Plain<typebox.TString, typebox.TStringOptions>;
export const Unknown = typebox.Unknown as Plain<typebox.TUnknown, typebox.TSchemaOptions>;

const arraySchema = typebox.Array as <Item extends typebox.TSchema, const Given extends typebox.TArrayOptions = NoOptions>(
  items: Item,
  options?: Given,
) => WithDefault<typebox.TArray<Item>, Given>;

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

export const Literal = typebox.Literal as <
  Value extends typebox.TLiteralValue,
  const Given extends typebox.TSchemaOptions = NoOptions,
>(
  value: Value,
  options?: Given,
) => WithDefault<typebox.TLiteral<Value>, Given>;

const objectSchema = typebox.Object as <
  Properties extends typebox.TProperties,
  const Given extends typebox.TObjectOptions = NoOptions,
>(
  properties: Properties,
  options?: Given,
) => WithDefault<ObjectSchema<Properties>, Given>;

export const Record = typebox.Record as <
  Key extends typebox.TSchema,
  Value extends typebox.TSchema,
  const Given extends typebox.TObjectOptions = NoOptions,
>(
  key: Key,
  value: Value,
  options?: Given,
) => WithDefault<typebox.TRecordAction<Key, Value>, Given>;

export const Tuple = typebox.Tuple as <Types extends typebox.TSchema[], const Given extends typebox.TTupleOptions = NoOptions>(
  types: [...Types],
  options?: Given,
) => WithDefault<typebox.TTuple<Types>, Given>;

export const Union = typebox.Union as <Types extends typebox.TSchema[], const Given extends typebox.TSchemaOptions = NoOptions>(
  anyOf: [...Types],
  options?: Given,
) => WithDefault<typebox.TUnion<Types>, Given>;

export { arraySchema as Array, booleanSchema as Boolean, numberSchema as Number, objectSchema as Object, stringSchema as String };
