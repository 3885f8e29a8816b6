/** The form of an entry in the table of tools, and the arguments that several tools share. */
import Type, { type TObject, type TSchema } from "typebox";
import { TEXT_LENGTH_MAX } from "../limits.ts";

/** What a host may assume about a tool before it lets a model call it. */
export interface ToolAnnotations {
  readOnlyHint: boolean;
  /** The tool ends or removes something. */
  destructiveHint: boolean;
  /** A repeated call with the same arguments has no further effect. */
  idempotentHint: boolean;
  /** No tool reaches beyond the server. */
  openWorldHint: false;
}

export interface McpTool {
  title: string;
  description: string;
  input: TObject;
  /** The result of a successful call, as JSON text and as structured content. */
  output: TObject;
  annotations: ToolAnnotations;
}

export const READS: ToolAnnotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
/** Adds a record; each call adds another. */
export const ADDS: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false };
/** Changes a record; a repeated call has no further effect. */
export const CHANGES: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};
/** Ends, removes or replaces a record; a repeated call has no further effect. */
export const ENDS: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false };

export function text(description: string) {
  return Type.String({ description, maxLength: TEXT_LENGTH_MAX });
}

/** Text with one of these values. */
export function oneOf<T extends string>(values: readonly T[], description: string) {
  return Type.Unsafe<T>({ type: "string", enum: [...values], description });
}

export function whole(description: string) {
  return Type.Integer({ description });
}

export function limit([standard, maximum]: readonly [number, number], what: string) {
  const description = `How many ${what} at most`;
  return Type.Optional(Type.Integer({ description, minimum: 1, maximum, default: standard }));
}

/** Arguments of a tool; undeclared arguments are refused. */
export function input<T extends Record<string, TSchema>>(properties: T) {
  return Type.Object(properties, { additionalProperties: false });
}

/** Keys of a result. */
export function output<T extends Record<string, TSchema>>(properties: T) {
  return Type.Object(properties);
}

export const FLOW = text("The flow: its name, or project/flow");
export const RUN_ID = whole("Id of the run");
export const PROJECT = Type.Optional(text("Only this project"));
export const FLOW_FILTER = Type.Optional(text("Only this flow: its name, or project/flow"));
/** Cursor of the next page in a result. */
export const NEXT_CURSOR = Type.Union([Type.Integer(), Type.Null()], {
  description: "Passed back as cursor for the next page; null when this is the last one",
});
/** For results that earlier agents know without a cursor. */
export const EARLIER_CURSOR = Type.Optional(
  Type.Integer({ description: "Passed back as cursor for earlier ones; absent when there are none" }),
);
export const CURSOR = Type.Optional(whole("next_cursor of the page before, for the next page"));
