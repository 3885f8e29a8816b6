/** Variables: named JSON values; secret ones are encrypted at rest and masked in responses. */
import Type, { type Static } from "typebox";
import { VARIABLE_BYTES_MAX, VARIABLE_NAME_LENGTH_MAX } from "../limits.ts";
import { AnyJson, about, Names, optional, Strings, sent, sizedJson, Timestamp } from "../values/scalar.ts";

/** Shown by responses in place of a secret value. */
export const SECRET_MASK = "********";

const fields = {
  name: Type.String(),
  value: about("Of a secret: ********", AnyJson),
  tags: Type.Optional(Strings),
  secret: Type.Boolean(),
  created_at: Timestamp,
  updated_at: Timestamp,
};

/** A variable; the value of a secret is masked. */
export const VariableRow = sent(Type.Object(fields, { title: "VariableRow" }));
export type VariableRow = Static<typeof VariableRow>;

/** A variable with the stored ciphertext of a secret; `raw` is absent otherwise. */
export const VariableWithRaw = Type.Object(
  { ...fields, raw: Type.Optional(about("Of a secret: the stored ciphertext", Type.String())) },
  { title: "VariableWithRaw" },
);
export type VariableWithRaw = Static<typeof VariableWithRaw>;

const VariableName = Type.String({ pattern: "^[a-z0-9][a-z0-9_./-]*$", maxLength: VARIABLE_NAME_LENGTH_MAX });

/** Body of POST /api/variables. The value is at most 65536 bytes as JSON text. */
export const VariableBody = Type.Object(
  {
    name: VariableName,
    value: sizedJson(VARIABLE_BYTES_MAX, AnyJson),
    overwrite: Type.Optional(Type.Boolean({ description: "false: an existing variable is refused with 409", default: true })),
    secret: Type.Optional(
      about("Encrypted at rest and masked in answers; what was secret stays so unless this is false", Type.Boolean()),
    ),
    tags: Type.Optional(Names),
  },
  { title: "VariableBody" },
);
export type VariableBody = Static<typeof VariableBody>;

/** Body of PATCH /api/variables/{name}; each field is optional. */
export const VariablePatch = Type.Object(
  {
    secret: optional(about("false makes a secret plain: without a value the answer shows what was stored", Type.Boolean())),
    tags: optional(Names),
    value: Type.Optional(sizedJson(VARIABLE_BYTES_MAX, AnyJson)),
  },
  { title: "VariablePatch" },
);
export type VariablePatch = Static<typeof VariablePatch>;

/** Query of GET /api/variables/{name}. */
export const VariableQuery = Type.Object({
  raw: Type.Boolean({ description: "With the stored ciphertext of a secret", default: false }),
});
export type VariableQuery = Static<typeof VariableQuery>;
