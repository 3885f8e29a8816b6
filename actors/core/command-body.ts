/** The bodies of commands that the core parses. */
import type { Static, TSchema } from "typebox";
import { refuse } from "#protocol/errors";
import { parseKeepingFractions } from "#protocol/values/json";
import { SENT_JSON } from "#protocol/values/json-scan";
import { validate } from "#protocol/values/validate";
import { COMMANDS, type Command } from "#protocol/wire/command";
import type { Turn } from "./turn.ts";

/** Parses and validates a text body. On an error, refuses the command and returns undefined. */
export function parseBody<S extends TSchema>(
  turn: Turn,
  command: Command,
  schema: S,
  read = parseKeepingFractions,
): Static<S> | undefined {
  let value: unknown;
  try {
    value = read(String(command.body), SENT_JSON);
  } catch (cause) {
    turn.answers.refuse(command, refuse("bad_json", cause instanceof Error ? cause.message : String(cause)));
    return undefined;
  }
  const checked = validate(schema, value);
  if (checked.ok) {
    nameUnknownFields(turn, command, schema, value);
    return checked.value;
  }
  turn.answers.refuse(command, refuse("invalid", checked.error));
  return undefined;
}

function nameUnknownFields(turn: Turn, { kind }: Command, schema: TSchema, body: unknown): void {
  const { loggedAs } = COMMANDS[kind];
  const line = loggedAs === null ? null : turn.state.unknownFields.line(loggedAs, schema, body);
  if (line !== null) turn.warn(line);
}
