/** The same flow with schemas of several libraries: what must compile, and what must not. */
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import * as z from "zod";
import { flow } from "#sdk/index";

/** True only when both types are equal; the compiler rejects `true` otherwise. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>) => undefined;

interface Values {
  day: string;
  count: number;
  note?: string | undefined;
}

const zodSchema = z.object({ day: z.iso.date(), count: z.number().int().default(2), note: z.string().optional() });
export const zodFlow = flow("zod", { parameters: zodSchema }, (given) => {
  same<typeof given, Values>(true);
  return given;
});

const valibotSchema = v.object({
  day: v.pipe(v.string(), v.isoDate()),
  count: v.optional(v.pipe(v.number(), v.integer()), 2),
  note: v.optional(v.string()),
});
export const valibotFlow = flow("valibot", { parameters: valibotSchema }, (given) => {
  same<(typeof given)["count"], number>(true);
  return given;
});
export const convertedFlow = flow("valibot-converted", { parameters: toStandardJsonSchema(valibotSchema) }, (given) => {
  same<(typeof given)["day"], string>(true);
  return given;
});

const arkSchema = type({ day: "string.date.iso", count: "number.integer = 2", "note?": "string" });
export const arkFlow = flow("arktype", { parameters: arkSchema }, (given) => {
  same<(typeof given)["count"], number>(true);
  return given;
});

/** A value that the schema turns into another one. */
export const turned = flow("turned", { parameters: z.object({ at: z.string().transform((text) => text.length) }) }, ({ at }) => {
  same<typeof at, number>(true);
  return at;
});
export const none = flow("all-default", { parameters: z.object({ n: z.number().default(1) }) }, ({ n }) => n);

/** Only compiled. */
export function calls(): void {
  void zodFlow({ day: "2026-01-01" });
  void valibotFlow({ day: "2026-01-01", count: 3 });
  void convertedFlow({ day: "2026-01-01" });
  void arkFlow({ day: "2026-01-01" });
  void turned({ at: "abc" });
  void none();
  // @ts-expect-error day is required
  void zodFlow({ count: 3 });
  // @ts-expect-error day is required
  void zodFlow();
  // @ts-expect-error a day is a text
  void valibotFlow({ day: 1 });
  // @ts-expect-error there is no such parameter
  void arkFlow({ day: "2026-01-01", dya: 1 });
  // @ts-expect-error what is given is the text, not what the schema makes of it
  void turned({ at: 3 });
}
