/**
 * Variables: named JSON values. Secret values are sealed before they leave this step, and masked in every answer until a
 * person or program makes them plain; an MCP client may not do that.
 */

import { refuse } from "#protocol/errors";
import { VARIABLE_BYTES_MAX } from "#protocol/limits";
import { SECRET_MASK, VariableBody, VariablePatch } from "#protocol/records/variable";
import { canonicalPart } from "#protocol/values/json";
import { exceedsBytes } from "#protocol/values/json-size";
import type { Command } from "#protocol/wire/command";
import { parseBody } from "../core/command-body.ts";
import type { Secrets } from "../core/secrets.ts";
import type { StoredVariable } from "../core/state/live-state.ts";
import type { Turn } from "../core/turn.ts";

export function createVariable(turn: Turn, command: Command, secrets: Secrets): void {
  const body = parseBody(turn, command, VariableBody);
  if (body === undefined) return;
  const known = turn.state.variables.find(body.name);
  if (known !== null && body.overwrite === false) return turn.answers.refuse(command, refuse("variable_exists", body.name));
  if (known?.secret === true && body.secret === false && command.mcp_client !== undefined)
    return turn.answers.refuse(command, refuse("secret_kept", body.name));
  const value = canonicalPart(body, "value");
  if (isTooLarge(value)) return turn.answers.refuse(command, refuse("variable_too_large", VARIABLE_BYTES_MAX));
  // A secret stays secret unless the request says otherwise, so that an update that omits `secret` does not reveal the new
  // value.
  const secret = body.secret ?? known?.secret ?? false;
  const created_at = known?.created_at ?? turn.nowUs;
  put(turn, command, 201, secrets, body.name, { plain: value, secret, tags: body.tags ?? [], created_at });
}

export function patchVariable(turn: Turn, command: Command, secrets: Secrets): void {
  const patch = parseBody(turn, command, VariablePatch);
  if (patch === undefined) return;
  const name = command.target_name ?? "";
  const known = turn.state.variables.find(name);
  if (known === null) return turn.answers.refuse(command, refuse("variable_not_found", name));
  const secret = patch.secret ?? known.secret;
  const tags = patch.tags ?? known.tags;
  const { created_at } = known;
  if (patch.value != null) {
    const value = canonicalPart(patch, "value");
    if (isTooLarge(value)) return turn.answers.refuse(command, refuse("variable_too_large", VARIABLE_BYTES_MAX));
    return put(turn, command, 200, secrets, name, { plain: value, secret, tags, created_at });
  }
  if (secret === known.secret) return store(turn, command, 200, name, { ...known, tags });
  const plain = known.secret ? secrets.open(known.value) : known.value;
  if (plain === null) return turn.answers.refuse(command, refuse("secret_unreadable", name));
  put(turn, command, 200, secrets, name, { plain, secret, tags, created_at });
}

export function deleteVariable(turn: Turn, command: Command): void {
  const name = command.target_name ?? "";
  if (turn.state.variables.find(name) === null) return turn.answers.refuse(command, refuse("variable_not_found", name));
  turn.rows.put("delete_variable", { name });
  turn.state.variables.put(name, null, turn.number);
  turn.stream.add("variable.deleted", name);
  turn.answers.text(command, 204, null);
}

interface PlainVariable extends Omit<StoredVariable, "value"> {
  plain: string;
}

function put(
  turn: Turn,
  command: Command,
  status: number,
  secrets: Secrets,
  name: string,
  { plain, ...rest }: PlainVariable,
): void {
  if (rest.secret && !secrets.present && turn.state.hasSecrets())
    return turn.answers.refuse(command, refuse("secret_key_missing"));
  if (!rest.secret && turn.state.variables.find(name)?.secret === true)
    turn.warn(`variable ${name} is no longer secret: its value is stored and shown as it is`);
  store(turn, command, status, name, { ...rest, value: rest.secret ? secrets.seal(plain) : plain });
}

function store(turn: Turn, command: Command, status: number, name: string, variable: StoredVariable): void {
  const { value, secret, tags, created_at } = variable;
  const tagsText = JSON.stringify(tags);
  const times = { created_at, updated_at: turn.nowUs };
  turn.rows.put("put_variable", { name, value, secret: secret ? 1 : 0, tags: tagsText, ...times });
  turn.state.variables.put(name, variable, turn.number);
  turn.stream.add("variable.updated", name);
  const shown = secret ? JSON.stringify(SECRET_MASK) : value;
  const head = `{"name":${JSON.stringify(name)},"value":${shown},"tags":${tagsText},"secret":${secret}`;
  turn.answers.text(command, status, `${head},"created_at":${created_at},"updated_at":${turn.nowUs}}`);
}

function isTooLarge(text: string): boolean {
  return exceedsBytes(text, VARIABLE_BYTES_MAX);
}
