/** The required data of an artifact, by kind. Further keys, such as a title, are kept unchanged. */
import Type, { type TSchema } from "typebox";
import { optional, Strings } from "../values/scalar.ts";
import { validate } from "../values/validate.ts";
import type { ArtifactKind } from "./artifact.ts";

const DATA: Readonly<Record<ArtifactKind, TSchema>> = {
  markdown: Type.Object({ text: Type.String() }),
  table: Type.Object({ columns: optional(Strings), rows: Type.Array(Type.Unsafe<object>({ type: ["object", "array"] })) }),
  progress: Type.Object({ value: Type.Number({ minimum: 0, maximum: 100 }), label: optional(Type.String()) }),
  link: Type.Object({ url: Type.String({ minLength: 1 }), text: optional(Type.String()) }),
  image: Type.Object({ src: Type.String({ minLength: 1 }) }),
};

/** The error in the data, or null. */
export function checkArtifactData(kind: ArtifactKind, data: unknown): string | null {
  const checked = validate(DATA[kind], data);
  return checked.ok ? null : `data of a ${kind} artifact: ${checked.error}`;
}
