/** docs/reference/configuration.md: the keys of millrace.toml and the environment variables. */
import { DEFAULTS_KEYS, EMAIL_KEYS, FREE_TABLES, type Key, SERVER_KEYS, VARIABLES } from "#server/config/config-keys";
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
    keysOf("email", EMAIL_KEYS),
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
\`\`\``,
    "## Environment",
    table(
      ["Variable", ""],
      Object.entries(VARIABLES).map(([name, about]) => [code(name), about]),
    ),
  );
}

function keysOf(name: string, keys: Readonly<Record<string, Pick<Key<unknown>, "key" | "about" | "standard">>>): string {
  const rows = Object.values(keys).map(({ key, about, standard }) => [code(key), about, standard]);
  return `### [${name}]\n\n${table(["Key", "Meaning", "Without it"], rows)}`;
}
