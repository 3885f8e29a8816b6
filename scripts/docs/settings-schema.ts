/** docs/reference/millrace.schema.json: the JSON Schema of millrace.toml, by which editors complete and check it. */
import { JOB_KEYS } from "#sdk/jobs/job-keys";
import {
  DEFAULTS_KEYS,
  EMAIL_KEYS,
  FREE_TABLES,
  type Key,
  SERVER_KEYS,
  STORE_KEYS,
  WEBHOOKS_KEYS,
} from "#server/config/config-keys";
import { amount, commandWords, schemaOf } from "#server/config/config-values";

type Row = Key<never>;

export function settingsSchema(): string {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "millrace.toml",
    type: "object",
    properties: {
      server: tableOf(SERVER_KEYS),
      defaults: tableOf(DEFAULTS_KEYS),
      email: { ...tableOf(EMAIL_KEYS), required: ["host", "from"] },
      webhooks: tableOf(WEBHOOKS_KEYS),
      store: { ...tableOf(STORE_KEYS), additionalProperties: false },
      resources: { type: "object", description: FREE_TABLES.resources, additionalProperties: schemaOf(amount) },
      engines: { type: "object", description: FREE_TABLES.engines, additionalProperties: schemaOf(commandWords) },
      jobs: { type: "object", description: "Commands as flows", additionalProperties: jobs() },
    },
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function tableOf(keys: Readonly<Record<string, unknown>>): object {
  const rows = Object.values(keys as Record<string, Row>);
  const properties = rows.map(({ key, check, about, standard }) => [
    key,
    { ...schemaOf(check), description: described(about, standard) },
  ]);
  return { type: "object", properties: Object.fromEntries(properties) };
}

function jobs(): object {
  const properties = Object.entries(JOB_KEYS).map(([key, { schema, about, standard }]) => [
    key,
    { ...schema, description: described(about, standard) },
  ]);
  return { type: "object", properties: Object.fromEntries(properties), required: ["run"] };
}

function described(about: string, standard: string): string {
  return `${about}. Without it: ${standard}.`;
}
