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
  return parseBodyText(turn, command, schema, String(command.body), read);
}

/** The same for a text that is a part of the body. */
export function parseBodyText<S extends TSchema>(
  turn: Turn,
  command: Command,
  schema: S,
  text: string,
  read = parseKeepingFractions,
): Static<S> | undefined {
  let value: unknown;
  try {
    value = read(text, SENT_JSON);
  } catch (cause) {
    turn.answers.refuse(command, refuse("bad_json", cause instanceof Error ? cause.message : String(cause)));
    return undefined;
  }
  const checked = validate(schema, value);
  if (checked.ok) {
    warnOfUnknownFields(turn, command, schema, value);
    return checked.value;
  }
  turn.answers.refuse(command, refuse("invalid", checked.error));
  return undefined;
}

/** Names fields that the schema does not have in the server's log, each once. */
export function warnOfUnknownFields(turn: Turn, { kind }: Command, schema: TSchema, body: unknown): void {
  const { loggedAs } = COMMANDS[kind];
  const line = loggedAs === null ? null : turn.state.unknownFields.line(loggedAs, schema, body);
  if (line !== null) turn.warn(line);
}
