/** docs/reference/configuration.md: the keys of millrace.toml and the environment variables. */
import { JOB_KEYS } from "#sdk/jobs/job-keys";
import {
  DEFAULTS_KEYS,
  EMAIL_KEYS,
  FREE_TABLES,
  type Key,
  SERVER_KEYS,
  STORE_KEYS,
  VARIABLES,
  WEBHOOKS_KEYS,
} from "#server/config/config-keys";
import { code, page, table } from "./markdown.ts";

export function configurationReference(): string {
  return page(
    "# Configuration",
    `A flag of \`millrace serve\` ([command line](cli.md#millrace-serve)) overrides an environment variable, which
overrides \`millrace.toml\` in the served folder, which overrides the default. Unknown keys and tables are ignored with a warning; a
value of the wrong type ends the start with exit code 3. Changes take effect at the next start, except those made over
\`PATCH /api/settings\`, which take effect at once and are written back to the file.`,
    "## millrace.toml",
    keysOf("server", SERVER_KEYS),
    keysOf("defaults", DEFAULTS_KEYS),
    keysOf("store", STORE_KEYS),
    keysOf("email", EMAIL_KEYS),
    keysOf("webhooks", WEBHOOKS_KEYS),
    jobKeys(),
    ...Object.entries(FREE_TABLES).map(([name, about]) => `### [${name}]\n\n${about}.`),
    `For example:

\`\`\`toml
[server]
port = 4270
allowed_hosts = ["build.example.org"]

[defaults]
retain_days = 14

[resources]
gpu = 2

[engines]
"*.py" = "python3 engine.py"

[jobs.backup]
run = "pg_dump shop | gzip > /backups/shop.sql.gz"
cron = "30 2 * * *"
timeout = "1h"
retries = 2
\`\`\``,
    "## Environment",
    table(
      ["Variable", ""],
      Object.entries(VARIABLES).map(([name, about]) => [code(name), about]),
    ),
  );
}

function jobKeys(): string {
  const rows = Object.entries(JOB_KEYS).map(([key, { about, standard }]) => [code(key), about, standard]);
  return `### [jobs.NAME]

A command as a flow without TypeScript ([guide](../guides/commands.md)). Changes take effect within a second. While one job has a
bad setting, no job of the file is executed, and the problem is shown with the line of the file.

${table(["Key", "Meaning", "Without it"], rows)}`;
}

function keysOf(name: string, keys: Readonly<Record<string, Pick<Key<unknown>, "key" | "about" | "standard">>>): string {
  const rows = Object.values(keys).map(({ key, about, standard }) => [code(key), about, standard]);
  return `### [${name}]\n\n${table(["Key", "Meaning", "Without it"], rows)}`;
}
